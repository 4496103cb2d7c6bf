// C = A B^T in float32 without tensor cores: CuTe tiles, padded shared memory, 8 x 8 results a thread, any M, N, K.
#include <cute/tensor.hpp>

using namespace cute;

namespace sgemm {

using Tile = Shape<_128, _128, _8>;
using SmemLayout = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;

template <class Dst>
__device__ void load(float const* src, Dst&& dst, int row0, int k0, int rows, int cols) {
  for (int i = threadIdx.x; i < 128 * 8; i += 256) {
    int r = i / 8, k = i % 8;
    dst(r, k) = row0 + r < rows && k0 + k < cols ? src[int64_t(row0 + r) * cols + k0 + k] : 0.0f;
  }
}

__global__ __launch_bounds__(256) void kernel(float const* A, float const* B, float* C, int M, int N, int K) {
  __shared__ float a[cosize_v<SmemLayout>], b[cosize_v<SmemLayout>];
  auto sA = make_tensor(make_smem_ptr(a), SmemLayout{});
  auto sB = make_tensor(make_smem_ptr(b), SmemLayout{});
  auto mma = make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{});
  auto thr = mma.get_slice(threadIdx.x);
  auto tA = thr.partition_A(sA);
  auto tB = thr.partition_B(sB);
  auto acc = partition_fragment_C(mma, make_shape(_128{}, _128{}));
  clear(acc);
  int row0 = blockIdx.x * 128, col0 = blockIdx.y * 128;
  for (int k0 = 0; k0 < K; k0 += 8) {
    load(A, sA, row0, k0, M, K);
    load(B, sB, col0, k0, N, K);
    __syncthreads();
    gemm(mma, tA, tB, acc);
    __syncthreads();
  }
  auto where = thr.partition_C(make_identity_tensor(make_shape(_128{}, _128{})));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    int r = row0 + get<0>(where(i)), c = col0 + get<1>(where(i));
    if (r < M && c < N) C[int64_t(r) * N + c] = acc(i);
  }
}

}  // namespace sgemm

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  dim3 grid((a.M + 127) / 128, (a.N + 127) / 128);
  sgemm::kernel<<<grid, 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaGetLastError();
}
