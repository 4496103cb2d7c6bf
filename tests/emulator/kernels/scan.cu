// y = running sum of each row: warp scans, then the sums of the warps, chunk by chunk.
namespace scan {

__global__ __launch_bounds__(256) void kernel(float const* x, float* y, int n) {
  __shared__ float sums[8];
  __shared__ float carry;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float const* from = x + int64_t(blockIdx.x) * n;
  float* to = y + int64_t(blockIdx.x) * n;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  for (int first = 0; first < n; first += 256) {
    int i = first + threadIdx.x;
    float v = i < n ? from[i] : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
      float before = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v += before;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    float base = carry;
    for (int w = 0; w < warp; ++w) base += sums[w];
    if (i < n) to[i] = base + v;
    __syncthreads();
    if (threadIdx.x == 255) carry = base + v;
    __syncthreads();
  }
}

}  // namespace scan

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  scan::kernel<<<unsigned(a.M), 256, 0, stream>>>(a.x, a.y, int(a.N));
  return cudaGetLastError();
}
