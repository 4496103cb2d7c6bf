// C = A B^T on tensor cores, one stage, any M, N, K: the plain form, for types that differ only in the atom.
#pragma once
#include <cute/tensor.hpp>

namespace mma_gemm {

using namespace cute;
using TileM = _64;
using TileN = _64;
using TileK = _32;

template <class In, class Smem, class Tensor>
__device__ void fill(In const* src, Tensor&& dst, int row0, int col0, int rows, int cols) {
  for (int i = threadIdx.x; i < size(dst); i += blockDim.x) {
    int r = i / TileK{}, c = i % TileK{};
    bool inside = row0 + r < rows && col0 + c < cols;
    dst(r, c) = inside ? Smem(src[int64_t(row0 + r) * cols + col0 + c]) : Smem(0);
  }
}

// Rows are padded by 16 bytes, so that the eight rows of a fragment lie in different banks.
template <class T>
using SmemLayout = Layout<Shape<TileM, TileK>, Stride<Int<32 + 16 / sizeof(T)>, _1>>;

// How a K slice of fragments is multiplied: once, or three times with the parts of a split float32.
struct Once {
  template <class Mma, class A, class B, class C>
  static __device__ void multiply(Mma const& mma, A const& a, B const& b, C& c) {
    gemm(mma, a, b, c);
  }
};

template <class Mma, class How, class In, class Smem, class Out>
__global__ __launch_bounds__(128) void kernel(In const* A, In const* B, Out* C, int M, int N, int K) {
  __shared__ alignas(16) Smem a[cosize_v<SmemLayout<Smem>>];
  __shared__ alignas(16) Smem b[cosize_v<SmemLayout<Smem>>];
  auto sA = make_tensor(make_smem_ptr(a), SmemLayout<Smem>{});
  auto sB = make_tensor(make_smem_ptr(b), SmemLayout<Smem>{});
  int row0 = blockIdx.x * TileM{}, col0 = blockIdx.y * TileN{};
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  auto tA = thr.partition_A(sA);
  auto tB = thr.partition_B(sB);
  auto rA = make_fragment_like(tA);
  auto rB = make_fragment_like(tB);
  auto acc = partition_fragment_C(mma, make_shape(TileM{}, TileN{}));
  clear(acc);
  for (int k0 = 0; k0 < K; k0 += TileK{}) {
    fill<In, Smem>(A, sA, row0, k0, M, K);
    fill<In, Smem>(B, sB, col0, k0, N, K);
    __syncthreads();
    copy(tA, rA);
    copy(tB, rB);
    CUTE_UNROLL
    for (int k = 0; k < size<2>(rA); ++k) How::multiply(mma, rA(_, _, k), rB(_, _, k), acc);
    __syncthreads();
  }
  auto where = thr.partition_C(make_identity_tensor(make_shape(TileM{}, TileN{})));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    int r = row0 + get<0>(where(i)), c = col0 + get<1>(where(i));
    if (r < M && c < N) C[int64_t(r) * N + c] = Out(acc(i));
  }
}

template <class Atom, class How, class In, class Smem, class Out>
cudaError_t run(In const* A, In const* B, Out* C, int64_t M, int64_t N, int64_t K, cudaStream_t stream) {
  using Mma = decltype(make_tiled_mma(Atom{}, Layout<Shape<_2, _2, _1>>{}));
  dim3 grid((M + 63) / 64, (N + 63) / 64);
  kernel<Mma, How, In, Smem, Out><<<grid, 128, 0, stream>>>(A, B, C, int(M), int(N), int(K));
  return cudaGetLastError();
}

}  // namespace mma_gemm
