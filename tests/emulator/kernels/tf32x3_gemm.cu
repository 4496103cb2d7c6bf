// C = A B^T in nearly float32 from three tf32 products: each operand is split into a large and a small part.
#include "mma_gemm.cuh"

namespace split {

using namespace cute;

struct Thrice {
  template <class Mma, class A, class B, class C>
  static __device__ void multiply(Mma const& mma, A const& a, B const& b, C& c) {
    auto big_a = make_fragment_like<tfloat32_t>(a), small_a = make_fragment_like<tfloat32_t>(a);
    auto big_b = make_fragment_like<tfloat32_t>(b), small_b = make_fragment_like<tfloat32_t>(b);
    divide(a, big_a, small_a);
    divide(b, big_b, small_b);
    gemm(mma, small_a, big_b, c);
    gemm(mma, big_a, small_b, c);
    gemm(mma, big_a, big_b, c);
  }
  template <class From, class To>
  static __device__ void divide(From const& from, To& big, To& small) {
    CUTE_UNROLL
    for (int i = 0; i < size(from); ++i) {
      uint32_t bits;
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(from(i)));
      big(i) = tfloat32_t::bitcast(bits);
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(from(i) - __uint_as_float(bits)));
      small(i) = tfloat32_t::bitcast(bits);
    }
  }
};

}  // namespace split

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  return mma_gemm::run<cute::SM80_16x8x8_F32TF32TF32F32_TN, split::Thrice, float, float, float>(a.A, a.B, a.C, a.M, a.N, a.K, stream);
}
