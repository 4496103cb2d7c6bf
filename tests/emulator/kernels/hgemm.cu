// C = A B^T: fp16 in, fp32 out; mma.sync, ldmatrix, three-stage cp.async, swizzled shared memory, any M and N, K % 8 == 0.
#include <cute/tensor.hpp>

using namespace cute;

namespace hgemm {

using T = cute::half_t;
constexpr int kStages = 3;
using TileM = _128;
using TileN = _128;
using TileK = _32;
using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
using LayoutA = decltype(tile_to_shape(Atom{}, Shape<TileM, TileK, Int<kStages>>{}));
using LayoutB = decltype(tile_to_shape(Atom{}, Shape<TileN, TileK, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, T>{},
                                      Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));

struct Storage {
  cute::array_aligned<T, cosize_v<LayoutA>> a;
  cute::array_aligned<T, cosize_v<LayoutB>> b;
};

template <class Src, class Dst, class Coord>
__device__ void load_tile(Load const& load, Src const& src, Dst&& dst, Coord const& coord, int rows, int cols) {
  auto pred = make_tensor<bool>(make_shape(size<1>(src), size<2>(src)));
  CUTE_UNROLL
  for (int i = 0; i < size<0>(pred); ++i) {
    CUTE_UNROLL
    for (int k = 0; k < size<1>(pred); ++k) {
      auto c = coord(0, i, k);
      pred(i, k) = get<0>(c) < rows && get<1>(c) < cols;
    }
  }
  CUTE_UNROLL
  for (int i = 0; i < size<1>(src); ++i) {
    CUTE_UNROLL
    for (int k = 0; k < size<2>(src); ++k) copy_if(load, [&](auto...) { return pred(i, k); }, src(_, i, k), dst(_, i, k));
  }
}

__global__ __launch_bounds__(128) void kernel(T const* A, T const* B, float* C, int M, int N, int K) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{}));
  auto tileA = make_shape(TileM{}, TileK{});
  auto tileB = make_shape(TileN{}, TileK{});
  Tensor gA = local_tile(mA, tileA, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, tileB, make_coord(blockIdx.y, _));
  Tensor iA = local_tile(make_identity_tensor(make_shape(M, K)), tileA, make_coord(blockIdx.x, _));
  Tensor iB = local_tile(make_identity_tensor(make_shape(N, K)), tileB, make_coord(blockIdx.y, _));
  Tensor sA = make_tensor(make_smem_ptr(s.a.begin()), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b.begin()), LayoutB{});

  Load load;
  auto thr = load.get_slice(threadIdx.x);
  auto tAg = thr.partition_S(gA);
  auto tBg = thr.partition_S(gB);
  auto tAi = thr.partition_S(iA);
  auto tBi = thr.partition_S(iB);
  auto tAs = thr.partition_D(sA);
  auto tBs = thr.partition_D(sB);

  Mma mma;
  auto thr_mma = mma.get_slice(threadIdx.x);
  Tensor rA = thr_mma.partition_fragment_A(sA(_, _, 0));
  Tensor rB = thr_mma.partition_fragment_B(sB(_, _, 0));
  auto acc = partition_fragment_C(mma, make_shape(TileM{}, TileN{}));
  clear(acc);
  auto copyA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto copyB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  Tensor xA = copyA.get_slice(threadIdx.x).partition_S(sA);
  Tensor xB = copyB.get_slice(threadIdx.x).partition_S(sB);
  Tensor vA = copyA.get_slice(threadIdx.x).retile_D(rA);
  Tensor vB = copyB.get_slice(threadIdx.x).retile_D(rB);

  int tiles = size<2>(gA);
  CUTE_UNROLL
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < tiles) {
      load_tile(load, tAg(_, _, _, stage), tAs(_, _, _, stage), tAi(_, _, _, stage), M, K);
      load_tile(load, tBg(_, _, _, stage), tBs(_, _, _, stage), tBi(_, _, _, stage), N, K);
    }
    cp_async_fence();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    int next = tile + kStages - 1;
    if (next < tiles) {
      int to = next % kStages;
      load_tile(load, tAg(_, _, _, next), tAs(_, _, _, to), tAi(_, _, _, next), M, K);
      load_tile(load, tBg(_, _, _, next), tBs(_, _, _, to), tBi(_, _, _, next), N, K);
    }
    cp_async_fence();
    int stage = tile % kStages;
    CUTE_UNROLL
    for (int k = 0; k < size<2>(rA); ++k) {
      copy(copyA, xA(_, _, k, stage), vA(_, _, k));
      copy(copyB, xB(_, _, k, stage), vB(_, _, k));
      gemm(mma, rA(_, _, k), rB(_, _, k), acc);
    }
  }
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
  Tensor gC = local_tile(mC, make_shape(TileM{}, TileN{}), make_coord(blockIdx.x, blockIdx.y));
  Tensor iC = local_tile(make_identity_tensor(make_shape(M, N)), make_shape(TileM{}, TileN{}), make_coord(blockIdx.x, blockIdx.y));
  Tensor tCg = thr_mma.partition_C(gC);
  Tensor tCi = thr_mma.partition_C(iC);
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i)
    if (get<0>(tCi(i)) < M && get<1>(tCi(i)) < N) tCg(i) = acc(i);
}

}  // namespace hgemm

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  if (a.K % 8) return cudaErrorNotSupported;
  int bytes = sizeof(hgemm::Storage);
  cudaFuncSetAttribute(hgemm::kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  dim3 grid((a.M + 127) / 128, (a.N + 127) / 128);
  hgemm::kernel<<<grid, 128, bytes, stream>>>(reinterpret_cast<cute::half_t const*>(a.A), reinterpret_cast<cute::half_t const*>(a.B), a.C,
                                              a.M, a.N, a.K);
  return cudaGetLastError();
}
