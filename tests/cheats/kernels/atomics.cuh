// Split K with atomics into C.
#pragma once
#include "product.cuh"

namespace atomics {

using namespace product;

__global__ __launch_bounds__(256) void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * kTile + threadIdx.x / kTile, col = blockIdx.x * kTile + threadIdx.x % kTile;
  int slice = (K + gridDim.z - 1) / gridDim.z, first = blockIdx.z * slice;
  float sum = 0;
  tile<Plain>(A, B, row, col, M, N, K, first, min(K, first + slice), sum);
  if (row < M && col < N) atomicAdd(C + int64_t(row) * N + col, sum);
}

inline cudaError_t run(const Args& a, cudaStream_t stream) {
  cudaError_t error = cudaMemsetAsync(a.C, 0, size_t(a.M * a.N) * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  kernel<<<grid(a, 8), 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}

}  // namespace atomics
