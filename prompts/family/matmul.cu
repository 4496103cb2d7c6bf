namespace pipelined {
using namespace cute;
using BM = Int<128>;
using BN = Int<128>;
using BK = Int<16>;
using Stages = Int<3>;
constexpr int kThreads = 256;

// 16 x 16 threads, each with two groups of 4 consecutive rows and columns, so that fragments load as vectors.
using Split = Layout<Shape<_16, _4, _2>, Stride<_4, _1, _64>>;
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{},
                                    Tile<Split, Split, Underscore>{}));
// lhs (P, R) is contiguous along R: single floats, transposed on their way into shared memory.
using CopyL = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<float>, float>{},
                                       Layout<Shape<_16, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
// rhs (Q, R) is contiguous along Q: 16 bytes a thread.
using CopyR = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, float>{},
                                       Layout<Shape<_32, _8>>{}, Layout<Shape<_4, _1>>{}));
using SmemL = Layout<Shape<BM, BK, Stages>, Stride<_1, Int<132>, Int<132 * 16>>>;  // padded: no bank conflicts
using SmemR = Layout<Shape<BN, BK, Stages>, Stride<_1, Int<128>, Int<128 * 16>>>;
constexpr int smem_bytes = (cosize_v<SmemL> + cosize_v<SmemR>) * sizeof(float);  // over 48 KB: see setup

__global__ void __launch_bounds__(kThreads)
kernel(const float* lhs, const float* rhs, float* out, int64_t P, int64_t Q, int64_t R) {
  // mL, mR, mO, gL, gR, gO, cL, cR, cO as in the complete kernel above, with tiles BM, BN, BK.
  extern __shared__ __align__(16) float memory[];
  Tensor sL = make_tensor(make_smem_ptr(memory), SmemL{});
  Tensor sR = make_tensor(make_smem_ptr(memory + cosize_v<SmemL>), SmemR{});

  CopyL copy_l;
  CopyR copy_r;
  Mma mma;
  auto thr_l = copy_l.get_slice(threadIdx.x);
  auto thr_r = copy_r.get_slice(threadIdx.x);
  auto thr_mma = mma.get_slice(threadIdx.x);
  Tensor tLg = thr_l.partition_S(gL);  // (copy, BM/.., BK/.., steps)
  Tensor tLc = thr_l.partition_S(cL);
  Tensor tLs = thr_l.partition_D(sL);  // (copy, BM/.., BK/.., Stages)
  Tensor tRg = thr_r.partition_S(gR);
  Tensor tRc = thr_r.partition_S(cR);
  Tensor tRs = thr_r.partition_D(sR);
  Tensor tOsL = thr_mma.partition_A(sL);  // (mma, 8, BK, Stages)
  Tensor tOsR = thr_mma.partition_B(sR);
  Tensor tOg = thr_mma.partition_C(gO);
  Tensor tOc = thr_mma.partition_C(cO);
  Tensor rL = make_fragment_like(tOsL(_, _, 0, 0));
  Tensor rR = make_fragment_like(tOsR(_, _, 0, 0));
  Tensor sum = make_fragment_like(tOg);
  clear(sum);

  const int steps = size<2>(gL);
  auto load = [&](int step, int stage) {  // one group a step; past the end an empty one, to keep the count
    if (step < steps) {
      for_each(make_int_sequence<size<1>(tLs)>{}, [&](auto i) {
        for_each(make_int_sequence<size<2>(tLs)>{}, [&](auto k) {
          bool inside = elem_less(tLc(_0{}, i, k, step), shape(mL));  // outside: zeros
          copy(copy_l.with(inside), tLg(_, i, k, step), tLs(_, i, k, stage));
        });
      });
      for_each(make_int_sequence<size<1>(tRs)>{}, [&](auto i) {
        for_each(make_int_sequence<size<2>(tRs)>{}, [&](auto k) {
          bool inside = elem_less(tRc(_0{}, i, k, step), shape(mR));  // whole vectors: Q % 4 == 0
          copy(copy_r.with(inside), tRg(_, i, k, step), tRs(_, i, k, stage));
        });
      });
    }
    cp_async_fence();
  };
  for (int step = 0; step < Stages{} - 1; ++step) load(step, step);
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<Stages{} - 2>();  // this step has arrived for this thread,
    __syncthreads();                // now for all, and nobody reads the stage that is filled next
    load(step + Stages{} - 1, (step + Stages{} - 1) % Stages{});
    const int stage = step % Stages{};
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tOsL); ++k) {
      copy(AutoVectorizingCopy{}, tOsL(_, _, k, stage), rL);
      copy(AutoVectorizingCopy{}, tOsR(_, _, k, stage), rR);
      gemm(mma, rL, rR, sum);
    }
  }
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i)
    if (elem_less(tOc(i), shape(mO))) tOg(i) = sum(i);
}
}  // namespace pipelined

extern "C" cudaError_t setup(const Args&) {
  return cudaFuncSetAttribute(pipelined::kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, pipelined::smem_bytes);
}
