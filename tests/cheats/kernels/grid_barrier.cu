// Honest: a cooperative launch; all blocks meet, then each finishes what another began.
#include <cooperative_groups.h>

namespace meeting {

__global__ void kernel(const float* X, const float* W, float* Y, int64_t total, int64_t n) {
  int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < total; i += step) Y[i] = W[i % n];
  cooperative_groups::this_grid().sync();
  for (int64_t i = (gridDim.x - 1 - blockIdx.x) * int64_t(blockDim.x) + threadIdx.x; i < total; i += step) Y[i] *= X[i];
}

}  // namespace meeting

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  int64_t total = a.M * a.N, n = a.N;
  const float *X = a.X, *W = a.W;
  float* Y = a.Y;
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  void* arguments[] = {&X, &W, &Y, &total, &n};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(meeting::kernel), dim3(processors), dim3(256), arguments, 0, stream);
}
