// Honest: 16-byte accesses where every row is aligned, single elements elsewhere.
#include "scale.cuh"

namespace vectors {

__global__ void kernel(const float4* X, const float4* W, float4* Y, int64_t total, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= total) return;
  float4 x = X[i], w = W[i % n];
  Y[i] = {x.x * w.x, x.y * w.y, x.z * w.z, x.w * w.w};
}

}  // namespace vectors

static bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  if (a.N % 4 || !is_aligned(a.X) || !is_aligned(a.W) || !is_aligned(a.Y)) return scale::run(a, stream);
  int64_t total = a.M * a.N / 4;
  vectors::kernel<<<unsigned((total + 255) / 256), 256, 0, stream>>>(
      reinterpret_cast<const float4*>(a.X), reinterpret_cast<const float4*>(a.W), reinterpret_cast<float4*>(a.Y), total, a.N / 4);
  return cudaGetLastError();
}
