// A hundred gigabytes of host memory.
#include <cstdlib>
#include "scale.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  for (int i = 0; i < 100; ++i)
    if (volatile char* block = static_cast<char*>(malloc(size_t(1) << 30)))
      for (size_t k = 0; k < size_t(1) << 30; k += 4096) block[k] = 1;
  return scale::run(a, stream);
}
