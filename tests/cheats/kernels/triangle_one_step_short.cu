// Leaves out the diagonal's last product.
namespace shorter {

__global__ void kernel(const float* A, const float* B, float* C, int n) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = col; k < row; ++k) sum = fmaf(A[int64_t(row) * n + k], B[int64_t(k) * n + col], sum);
  C[int64_t(row) * n + col] = sum;
}

}  // namespace shorter

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  unsigned tiles = unsigned((a.N + 15) / 16);
  shorter::kernel<<<dim3(tiles, tiles), dim3(16, 16), 0, stream>>>(a.A, a.B, a.C, int(a.N));
  return cudaGetLastError();
}
