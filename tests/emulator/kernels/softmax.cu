// Row softmax in one pass over memory: running maximum and sum, rows kept in dynamic shared memory.
namespace softmax {

struct Pair {
  float top, sum;
};

__device__ Pair merge(Pair a, Pair b) {
  float top = fmaxf(a.top, b.top);
  return {top, a.sum * __expf(a.top - top) + b.sum * __expf(b.top - top)};
}

__global__ __launch_bounds__(256) void kernel(float const* x, float* y, int n) {
  extern __shared__ float row[];
  __shared__ Pair part[8];
  float const* from = x + int64_t(blockIdx.x) * n;
  float* to = y + int64_t(blockIdx.x) * n;
  Pair p{-1e30f, 0.0f};
  for (int i = threadIdx.x; i < n; i += 256) {
    float v = from[i];
    row[i] = v;
    p = merge(p, {v, 1.0f});
  }
  for (int d = 16; d > 0; d /= 2) p = merge(p, {__shfl_xor_sync(~0u, p.top, d), __shfl_xor_sync(~0u, p.sum, d)});
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = p;
  __syncthreads();
  p = part[0];
  for (int i = 1; i < 8; ++i) p = merge(p, part[i]);
  for (int i = threadIdx.x; i < n; i += 256) to[i] = __expf(row[i] - p.top) / p.sum;
}

}  // namespace softmax

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  softmax::kernel<<<unsigned(a.M), 256, a.N * sizeof(float), stream>>>(a.x, a.y, int(a.N));
  return cudaGetLastError();
}
