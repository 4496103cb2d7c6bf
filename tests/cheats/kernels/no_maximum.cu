// Exponentials without taking the maximum away first: fine until the numbers are large.
#include "rows.cuh"

namespace bare {

using namespace rows;

__global__ void kernel(const float* X, float* Y, int64_t n) {
  const float* x = X + blockIdx.x * n;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += expf(x[i]);
  sum = all<Add>(sum);
  for (int64_t i = threadIdx.x; i < n; i += kThreads) Y[blockIdx.x * n + i] = expf(x[i]) / sum;
}

}  // namespace bare

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  bare::kernel<<<unsigned(a.M), rows::kThreads, 0, stream>>>(a.X, a.Y, a.N);
  return cudaGetLastError();
}
