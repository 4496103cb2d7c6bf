// Adds up in scratch memory that it never cleared: zero on a fresh process, elsewhere not.
namespace trusting {

__global__ void kernel(const float* X, const float* W, float* Y, float* scratch, int64_t total, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= total) return;
  scratch[i] += X[i] * W[i % n];
  Y[i] = scratch[i];
}

}  // namespace trusting

extern "C" size_t workspace_bytes(const Args& a) { return size_t(a.M * a.N) * sizeof(float); }

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  int64_t total = a.M * a.N;
  trusting::kernel<<<unsigned((total + 255) / 256), 256, 0, stream>>>(
      a.X, a.W, a.Y, static_cast<float*>(a.workspace), total, a.N);
  return cudaGetLastError();
}
