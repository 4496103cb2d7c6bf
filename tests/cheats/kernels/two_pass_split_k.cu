// Honest: partial sums of four slices in the workspace, added in order by a second launch.
#include "product.cuh"

namespace two_pass {

using namespace product;
constexpr int kSlices = 4;

__global__ __launch_bounds__(256) void parts(const float* A, const float* B, float* part, int M, int N, int K) {
  int row = blockIdx.y * kTile + threadIdx.x / kTile, col = blockIdx.x * kTile + threadIdx.x % kTile;
  int slice = (K + kSlices - 1) / kSlices, first = blockIdx.z * slice;
  float sum = 0;
  tile<Plain>(A, B, row, col, M, N, K, first, min(K, first + slice), sum);
  if (row < M && col < N) part[(int64_t(blockIdx.z) * M + row) * N + col] = sum;
}

__global__ void add(const float* part, float* C, int64_t total) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= total) return;
  float sum = part[i];
  for (int slice = 1; slice < kSlices; ++slice) sum += part[slice * total + i];
  C[i] = sum;
}

}  // namespace two_pass

extern "C" size_t workspace_bytes(const Args& a) { return size_t(a.M * a.N) * two_pass::kSlices * sizeof(float); }

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  float* part = static_cast<float*>(a.workspace);
  two_pass::parts<<<product::grid(a, two_pass::kSlices), 256, 0, stream>>>(a.A, a.B, part, int(a.M), int(a.N), int(a.K));
  two_pass::add<<<unsigned((a.M * a.N + 255) / 256), 256, 0, stream>>>(part, a.C, a.M * a.N);
  return cudaGetLastError();
}
