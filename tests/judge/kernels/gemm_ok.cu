// C = A B in float32: A is M x K, B is K x N, C is M x N, all row-major and of any size.
// One block makes a 128 x 128 tile of C from slices of depth 16 in shared memory; products by FFMA, in order of k.
#include <cute/tensor.hpp>

using namespace cute;

namespace gemm {

using TileM = Int<128>;
using TileN = Int<128>;
using TileK = Int<16>;

__device__ inline float as_read(float value) { return value; }

template <class Tile, class Threads, class Gmem, class Smem>
__device__ void load_slice(const Gmem& whole, const Tile& tile, int row, int slice, const Threads& threads, Smem& smem) {
  auto coordinates = make_identity_tensor(shape(whole));
  auto from = local_partition(local_tile(whole, tile, make_coord(row, slice)), threads, threadIdx.x);
  auto place = local_partition(local_tile(coordinates, tile, make_coord(row, slice)), threads, threadIdx.x);
  auto to = local_partition(smem, threads, threadIdx.x);
  CUTE_UNROLL
  for (int i = 0; i < size(to); ++i) to(i) = elem_less(place(i), shape(whole)) ? as_read(from(i)) : 0.f;
}

__global__ __launch_bounds__(256) void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float smem_a[TileM::value * (TileK::value + 1)];
  __shared__ float smem_b[TileN::value * TileK::value];
  auto a = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
  auto b = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(_1{}, N));  // B transposed
  auto c = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
  auto sa = make_tensor(make_smem_ptr(smem_a), make_layout(Shape<TileM, TileK>{}, Stride<Int<17>, _1>{}));
  auto sb = make_tensor(make_smem_ptr(smem_b), make_layout(Shape<TileN, TileK>{}, Stride<_1, TileN>{}));

  auto threads_a = make_layout(Shape<_16, _16>{}, Stride<_16, _1>{});  // along k, as A lies in memory
  auto threads_b = make_layout(Shape<_32, _8>{}, Stride<_1, _32>{});   // along n, as B lies in memory
  auto threads_c = make_layout(Shape<_16, _16>{}, Stride<_16, _1>{});

  auto tile_c = Shape<TileM, TileN>{};
  auto block = make_coord(int(blockIdx.y), int(blockIdx.x));
  auto gc = local_partition(local_tile(c, tile_c, block), threads_c, threadIdx.x);
  auto pc = local_partition(local_tile(make_identity_tensor(shape(c)), tile_c, block), threads_c, threadIdx.x);
  auto ta = local_partition(sa, threads_c, threadIdx.x, Step<_1, X>{});
  auto tb = local_partition(sb, threads_c, threadIdx.x, Step<X, _1>{});
  auto sum = make_tensor<float>(shape(gc));
  clear(sum);

  int slices = (K + TileK::value - 1) / TileK::value;
  for (int slice = 0; slice < slices; ++slice) {
    load_slice(a, Shape<TileM, TileK>{}, blockIdx.y, slice, threads_a, sa);
    load_slice(b, Shape<TileN, TileK>{}, blockIdx.x, slice, threads_b, sb);
    __syncthreads();
    cute::gemm(ta, tb, sum);
    __syncthreads();
  }
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i)
    if (elem_less(pc(i), shape(c))) gc(i) = sum(i);
}

}  // namespace gemm

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  dim3 grid((a.N + 127) / 128, (a.M + 127) / 128);
  gemm::kernel<<<grid, 256, 0, stream>>>(a.A, a.B, a.C, int(a.M), int(a.N), int(a.K));
  return cudaPeekAtLastError();
}
