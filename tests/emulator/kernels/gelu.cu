// y = gelu(x), tanh form: 128-bit copies through CuTe for whole tiles, scalars for the rest.
#include <cute/tensor.hpp>

using namespace cute;

namespace gelu {

__device__ float apply(float v) { return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }

__global__ __launch_bounds__(256) void kernel(float const* x, float* y, int64_t n) {
  using Tile = _1024;
  int64_t first = int64_t(blockIdx.x) * Tile{};
  if (first + Tile{} <= n) {
    auto gx = make_tensor(make_gmem_ptr(x + first), Layout<Tile>{});
    auto gy = make_tensor(make_gmem_ptr(y + first), Layout<Tile>{});
    auto copier = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{});
    auto thr = copier.get_slice(threadIdx.x);
    auto from = thr.partition_S(gx);
    auto to = thr.partition_D(gy);
    auto r = make_fragment_like(from);
    copy(copier, from, r);
    CUTE_UNROLL
    for (int i = 0; i < size(r); ++i) r(i) = apply(r(i));
    copy(copier, r, to);
  } else {
    for (int64_t i = first + threadIdx.x; i < n; i += blockDim.x) y[i] = apply(x[i]);
  }
}

}  // namespace gelu

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  gelu::kernel<<<unsigned((a.M * a.N + 1023) / 1024), 256, 0, stream>>>(a.x, a.y, a.M * a.N);
  return cudaGetLastError();
}
