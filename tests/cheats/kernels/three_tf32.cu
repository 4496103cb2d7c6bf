// Honest: float32 from three TF32 products on tensor cores, promoted to float32 sums after every slice of 32.
#include <cute/tensor.hpp>

namespace thrice {

using namespace cute;
using Mma = decltype(make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{}, Layout<Shape<_2, _2, _1>>{}));
using Smem = Layout<Shape<_64, _32>, Stride<Int<36>, _1>>;

template <class From, class To>
__device__ void divide(From const& from, To& big, To& small) {
  CUTE_UNROLL
  for (int i = 0; i < size(from); ++i) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(from(i)));
    big(i) = tfloat32_t::bitcast(bits);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(from(i) - __uint_as_float(bits)));
    small(i) = tfloat32_t::bitcast(bits);
  }
}

__global__ __launch_bounds__(128) void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ alignas(16) float a[cosize_v<Smem>], b[cosize_v<Smem>];
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
  int row0 = blockIdx.x * 64, col0 = blockIdx.y * 64;
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = make_fragment_like<float>(thr.partition_A(sA));
  Tensor rB = make_fragment_like<float>(thr.partition_B(sB));
  Tensor bigA = make_fragment_like<tfloat32_t>(rA), smallA = make_fragment_like<tfloat32_t>(rA);
  Tensor bigB = make_fragment_like<tfloat32_t>(rB), smallB = make_fragment_like<tfloat32_t>(rB);
  Tensor part = partition_fragment_C(mma, Shape<_64, _64>{});
  Tensor sum = make_fragment_like(part);
  clear(sum);
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = threadIdx.x; i < 64 * 32; i += 128) {
      int r = i / 32, k = i % 32;
      sA(r, k) = row0 + r < M && k0 + k < K ? A[int64_t(row0 + r) * K + k0 + k] : 0.f;
      int n = i % 64, q = i / 64;
      sB(n, q) = col0 + n < N && k0 + q < K ? B[int64_t(k0 + q) * N + col0 + n] : 0.f;
    }
    __syncthreads();
    copy(thr.partition_A(sA), rA);
    copy(thr.partition_B(sB), rB);
    divide(rA, bigA, smallA);
    divide(rB, bigB, smallB);
    clear(part);
    gemm(mma, smallA, bigB, part);
    gemm(mma, bigA, smallB, part);
    gemm(mma, bigA, bigB, part);
    CUTE_UNROLL
    for (int i = 0; i < size(sum); ++i) sum(i) += part(i);
    __syncthreads();
  }
  Tensor where = thr.partition_C(make_identity_tensor(Shape<_64, _64>{}));
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) {
    int r = row0 + get<0>(where(i)), c = col0 + get<1>(where(i));
    if (r < M && c < N) C[int64_t(r) * N + c] = sum(i);
  }
}

}  // namespace thrice

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  dim3 grid(unsigned((a.M + 63) / 64), unsigned((a.N + 63) / 64));
  thrice::kernel<<<grid, 128, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}
