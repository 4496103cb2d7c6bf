// Reads far outside of everything.
namespace stray {

__global__ void kernel(const float* X, float* Y) { Y[threadIdx.x] = X[(int64_t(1) << 44) + threadIdx.x]; }

}  // namespace stray

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  stray::kernel<<<1, 32, 0, stream>>>(a.X, a.Y);
  return cudaGetLastError();
}
