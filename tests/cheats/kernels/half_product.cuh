// C = A B with float16 in and out; `Sum` is the type of the sums.
#pragma once

namespace half_product {

template <class Sum>
__global__ void kernel(const cutlass::half_t* A, const cutlass::half_t* B, cutlass::half_t* C, int M, int N, int K) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= M || col >= N) return;
  Sum sum = Sum(0);
  for (int k = 0; k < K; ++k) sum = sum + Sum(A[int64_t(row) * K + k]) * Sum(B[int64_t(k) * N + col]);
  C[int64_t(row) * N + col] = cutlass::half_t(sum);
}

template <class Sum>
cudaError_t run(const Args& a, cudaStream_t stream) {
  dim3 grid(unsigned((a.N + 15) / 16), unsigned((a.M + 15) / 16));
  kernel<Sum><<<grid, dim3(16, 16), 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}

}  // namespace half_product
