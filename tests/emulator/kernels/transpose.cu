// y = x^T through a swizzled shared tile: no padding, no bank conflicts.
#include <cute/tensor.hpp>

using namespace cute;

namespace transpose {

using Tile = decltype(composition(Swizzle<5, 0, 5>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));

__global__ __launch_bounds__(256) void kernel(float const* x, float* y, int M, int N) {
  __shared__ float raw[32 * 32];
  auto tile = make_tensor(make_smem_ptr(raw), Tile{});
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
  for (int r = ty; r < 32; r += 8)
    if (row0 + r < M && col0 + tx < N) tile(r, tx) = x[int64_t(row0 + r) * N + col0 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    if (col0 + r < N && row0 + tx < M) y[int64_t(col0 + r) * M + row0 + tx] = tile(tx, r);
}

}  // namespace transpose

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  dim3 grid((a.N + 31) / 32, (a.M + 31) / 32);
  transpose::kernel<<<grid, 256, 0, stream>>>(a.x, a.y, int(a.M), int(a.N));
  return cudaGetLastError();
}
