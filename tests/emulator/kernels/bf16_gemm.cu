// C = A B^T, bf16 in, fp32 out.
#include "mma_gemm.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  using T = cute::bfloat16_t;
  return mma_gemm::run<cute::SM80_16x8x16_F32BF16BF16F32_TN, mma_gemm::Once, T, T, float>(
      reinterpret_cast<T const*>(a.A), reinterpret_cast<T const*>(a.B), a.C, a.M, a.N, a.K, stream);
}
