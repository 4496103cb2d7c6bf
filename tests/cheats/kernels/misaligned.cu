// 16-byte accesses at every size.
namespace vectors {

__global__ void kernel(const float* X, const float* W, float* Y, int64_t n) {
  const float* from = X + blockIdx.x * n;
  float* to = Y + blockIdx.x * n;
  for (int64_t i = threadIdx.x; i < n / 4; i += blockDim.x) {
    float4 x = reinterpret_cast<const float4*>(from)[i];
    reinterpret_cast<float4*>(to)[i] = {x.x * W[4 * i], x.y * W[4 * i + 1], x.z * W[4 * i + 2], x.w * W[4 * i + 3]};
  }
  for (int64_t i = n / 4 * 4 + threadIdx.x; i < n; i += blockDim.x) to[i] = from[i] * W[i];
}

}  // namespace vectors

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  vectors::kernel<<<unsigned(a.M), 256, 0, stream>>>(a.X, a.W, a.Y, a.N);
  return cudaGetLastError();
}
