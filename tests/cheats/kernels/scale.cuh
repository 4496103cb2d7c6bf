// Y = X W with W along N: the honest kernel that many cheats bend. (M, N) row-major.
#pragma once

namespace scale {

__global__ void kernel(const float* X, const float* W, float* Y, int64_t total, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < total) Y[i] = X[i] * W[i % n];
}

inline cudaError_t run(const Args& a, cudaStream_t stream) {
  int64_t total = a.M * a.N;
  kernel<<<unsigned((total + 255) / 256), 256, 0, stream>>>(a.X, a.W, a.Y, total, a.N);
  return cudaGetLastError();
}

}  // namespace scale
