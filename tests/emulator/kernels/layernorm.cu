// y = (x - mean) / sqrt(var + eps), row by row, two passes: the variance is taken around the mean.
namespace layernorm {

__device__ float block_sum(float v, float* part) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += part[i];
  __syncthreads();
  return sum;
}

__global__ __launch_bounds__(128) void kernel(float const* x, float* y, int n) {
  __shared__ float part[4];
  float const* from = x + int64_t(blockIdx.x) * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += from[i];
  float mean = block_sum(sum, part) / n;
  float square = 0;
  for (int i = threadIdx.x; i < n; i += 128) square += (from[i] - mean) * (from[i] - mean);
  float scale = rsqrtf(block_sum(square, part) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 128) y[int64_t(blockIdx.x) * n + i] = (from[i] - mean) * scale;
}

}  // namespace layernorm

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  layernorm::kernel<<<unsigned(a.M), 128, 0, stream>>>(a.x, a.y, int(a.N));
  return cudaGetLastError();
}
