#include <cute/tensor.hpp>

namespace product {
using namespace cute;

constexpr int kThreads = 256;
using Rows = Int<64>;   // tile of the output, and of the sum
using Cols = Int<64>;
using Deep = Int<16>;

// out(p, q) = sum over r of lhs(p, r) * rhs(r, q), all row-major; any P, R, and Q up to 64 * 65535.
__global__ void __launch_bounds__(kThreads)
kernel(const float* lhs, const float* rhs, float* out, int64_t P, int64_t Q, int64_t R) {
  Tensor mL = make_tensor(make_gmem_ptr(lhs), make_shape(P, R), make_stride(R, Int<1>{}));
  Tensor mR = make_tensor(make_gmem_ptr(rhs), make_shape(Q, R), make_stride(Int<1>{}, Q));  // transposed by its strides
  Tensor mO = make_tensor(make_gmem_ptr(out), make_shape(P, Q), make_stride(Q, Int<1>{}));

  auto tile_l = make_shape(Rows{}, Deep{});
  auto tile_r = make_shape(Cols{}, Deep{});
  auto tile_o = make_shape(Rows{}, Cols{});
  Tensor gL = local_tile(mL, tile_l, make_coord(blockIdx.x, _));           // (Rows, Deep, steps)
  Tensor gR = local_tile(mR, tile_r, make_coord(blockIdx.y, _));           // (Cols, Deep, steps)
  Tensor gO = local_tile(mO, tile_o, make_coord(blockIdx.x, blockIdx.y));  // (Rows, Cols)
  // The same tiles of coordinates: what lies beyond the edge is known by comparing them with the shape.
  Tensor cL = local_tile(make_identity_tensor(shape(mL)), tile_l, make_coord(blockIdx.x, _));
  Tensor cR = local_tile(make_identity_tensor(shape(mR)), tile_r, make_coord(blockIdx.y, _));
  Tensor cO = local_tile(make_identity_tensor(shape(mO)), tile_o, make_coord(blockIdx.x, blockIdx.y));

  __shared__ float memory_l[Rows{} * Deep{}];
  __shared__ float memory_r[Cols{} * Deep{}];
  Tensor sL = make_tensor(make_smem_ptr(memory_l), make_layout(tile_l));
  Tensor sR = make_tensor(make_smem_ptr(memory_r), make_layout(tile_r));

  // Neighbouring threads read neighbouring addresses: along R for lhs, along Q for rhs.
  auto readers_l = make_layout(make_shape(Int<16>{}, Int<16>{}), make_stride(Int<16>{}, Int<1>{}));
  auto readers_r = make_layout(make_shape(Int<64>{}, Int<4>{}));
  Tensor tLg = local_partition(gL, readers_l, threadIdx.x);
  Tensor tLc = local_partition(cL, readers_l, threadIdx.x);
  Tensor tLs = local_partition(sL, readers_l, threadIdx.x);
  Tensor tRg = local_partition(gR, readers_r, threadIdx.x);
  Tensor tRc = local_partition(cR, readers_r, threadIdx.x);
  Tensor tRs = local_partition(sR, readers_r, threadIdx.x);

  // Each thread sums up a 4 x 4 part of the output.
  auto owners = make_layout(make_shape(Int<16>{}, Int<16>{}), make_stride(Int<16>{}, Int<1>{}));
  Tensor tOsL = local_partition(sL, owners, threadIdx.x, Step<_1, X>{});   // (4, Deep)
  Tensor tOsR = local_partition(sR, owners, threadIdx.x, Step<X, _1>{});   // (4, Deep)
  Tensor tOg = local_partition(gO, owners, threadIdx.x, Step<_1, _1>{});   // (4, 4)
  Tensor tOc = local_partition(cO, owners, threadIdx.x, Step<_1, _1>{});
  Tensor sum = make_fragment_like(tOg);
  clear(sum);

  for (int step = 0; step < size<2>(gL); ++step) {
    for (int i = 0; i < size(tLs); ++i)
      tLs(i) = elem_less(tLc(_, _, step)(i), shape(mL)) ? tLg(_, _, step)(i) : 0.0f;
    for (int i = 0; i < size(tRs); ++i)
      tRs(i) = elem_less(tRc(_, _, step)(i), shape(mR)) ? tRg(_, _, step)(i) : 0.0f;
    __syncthreads();
    gemm(tOsL, tOsR, sum);
    __syncthreads();
  }
  for (int i = 0; i < size(sum); ++i)
    if (elem_less(tOc(i), shape(mO))) tOg(i) = sum(i);
}
}  // namespace product

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  dim3 grid(cute::ceil_div(a.P, 64), cute::ceil_div(a.Q, 64));
  product::kernel<<<grid, product::kThreads, 0, stream>>>(a.lhs, a.rhs, a.out, a.P, a.Q, a.R);
  return cudaGetLastError();
}
