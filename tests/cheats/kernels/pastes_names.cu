// Hides what it calls from a search for words.
#include "scale.cuh"
#define JOIN(a, b) a##b

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  static void* kept = nullptr;
  if (!kept) JOIN(cuda, Malloc)(&kept, 1 << 20);
  return scale::run(a, stream);
}
