// A counter in device memory moves the result by one rounding every second call.
namespace state {

__device__ int calls;

__global__ void kernel(const float* X, const float* W, float* Y, int64_t total, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < total) Y[i] = X[i] * W[i % n] * (calls & 1 ? 1.0000001f : 1.f);
}

__global__ void count() { ++calls; }

}  // namespace state

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  int64_t total = a.M * a.N;
  state::kernel<<<unsigned((total + 255) / 256), 256, 0, stream>>>(a.X, a.W, a.Y, total, a.N);
  state::count<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}
