// C = A B in float32, A (M, K), B (K, N), row-major: products by FFMA, in order of k. `Read` bends what is read.
#pragma once

namespace product {

constexpr int kTile = 16;

struct Plain {
  static __device__ float read(float value) { return value; }
};

// Adds the products of [k0, k1) for one tile of C to `sum`.
template <class Read>
__device__ void tile(const float* A, const float* B, int row, int col, int M, int N, int K, int k0, int k1, float& sum) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  for (int k = k0; k < k1; k += kTile) {
    a[y][x] = row < M && k + x < k1 ? Read::read(A[int64_t(row) * K + k + x]) : 0.f;
    b[y][x] = col < N && k + y < k1 ? Read::read(B[int64_t(k + y) * N + col]) : 0.f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum = fmaf(a[y][i], b[i][x], sum);
    __syncthreads();
  }
}

template <class Read>
__global__ __launch_bounds__(256) void kernel(const float* A, const float* B, float* C, int M, int N, int K, int last) {
  int row = blockIdx.y * kTile + threadIdx.x / kTile, col = blockIdx.x * kTile + threadIdx.x % kTile;
  float sum = 0;
  tile<Read>(A, B, row, col, M, N, K, 0, last, sum);
  if (row < M && col < N) C[int64_t(row) * N + col] = sum;
}

inline dim3 grid(const Args& a, unsigned z = 1) {
  return dim3(unsigned((a.N + kTile - 1) / kTile), unsigned((a.M + kTile - 1) / kTile), z);
}

template <class Read>
cudaError_t run(const Args& a, int64_t last, cudaStream_t stream) {
  kernel<Read><<<grid(a), 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K), int(last));
  return cudaGetLastError();
}

}  // namespace product
