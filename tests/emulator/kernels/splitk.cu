// C = A B^T with K cut into four slices; every slice adds its part with an atomic.
namespace splitk {

__global__ __launch_bounds__(256) void kernel(float const* A, float const* B, float* C, int M, int N, int K) {
  __shared__ float a[16][17], b[16][17];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx, other = blockIdx.x * 16 + ty;
  int slice = (K + gridDim.z - 1) / gridDim.z, begin = blockIdx.z * slice, end = min(K, begin + slice);
  float sum = 0;
  for (int k0 = begin; k0 < end; k0 += 16) {
    int k = k0 + tx;
    a[ty][tx] = row < M && k < end ? A[int64_t(row) * K + k] : 0.0f;
    b[ty][tx] = other < N && k < end ? B[int64_t(other) * K + k] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum = fmaf(a[ty][i], b[tx][i], sum);
    __syncthreads();
  }
  if (row < M && col < N && begin < end) atomicAdd(C + int64_t(row) * N + col, sum);
}

}  // namespace splitk

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  cudaError_t error = cudaMemsetAsync(a.C, 0, a.M * a.N * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  dim3 grid((a.N + 15) / 16, (a.M + 15) / 16, 4);
  splitk::kernel<<<grid, 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}
