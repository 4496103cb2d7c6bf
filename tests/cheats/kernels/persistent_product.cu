// Honest: as many blocks as fit the device, each taking tiles in turn.
#include "product.cuh"

namespace persistent {

using namespace product;

__global__ __launch_bounds__(256) void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  int across = (N + kTile - 1) / kTile, tiles = across * ((M + kTile - 1) / kTile);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int row = t / across * kTile + threadIdx.x / kTile, col = t % across * kTile + threadIdx.x % kTile;
    float sum = 0;
    tile<Plain>(A, B, row, col, M, N, K, 0, K, sum);
    if (row < M && col < N) C[int64_t(row) * N + col] = sum;
  }
}

}  // namespace persistent

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  int device = 0, processors = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, persistent::kernel, 256, 0);
  persistent::kernel<<<unsigned(processors * blocks), 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}
