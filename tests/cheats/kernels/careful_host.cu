// Honest: host code as people write it: checks in macros, containers, one-time work under a lock, messages.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>
#include "scale.cuh"

#define CUDA_CHECK(call)                                                                     \
  do {                                                                                       \
    cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));   \
      return error_;                                                                         \
    }                                                                                        \
  } while (0)

static std::vector<int> choices{1024, 512, 256, 128};
static std::mutex lock;

extern "C" cudaError_t setup(const Args& a) {
  std::lock_guard<std::mutex> held(lock);
  cudaFuncAttributes facts;
  CUDA_CHECK(cudaFuncGetAttributes(&facts, scale::kernel));
  choices.erase(std::remove_if(choices.begin(), choices.end(), [&](int t) { return t > facts.maxThreadsPerBlock; }), choices.end());
  return a.M > 0 ? cudaSuccess : cudaErrorInvalidValue;
}

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  int64_t total = a.M * a.N;
  int threads = choices.front();
  scale::kernel<<<unsigned((total + threads - 1) / threads), threads, 0, stream>>>(a.X, a.W, a.Y, total, a.N);
  CUDA_CHECK(cudaGetLastError());
  return cudaSuccess;
}
