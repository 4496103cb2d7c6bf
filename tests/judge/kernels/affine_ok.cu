// Y = alpha * X * W + shift (negated if flip), S = sums of the rows of Y. N is a compile-time axis.
// Uses all of the ABI: packed weights, setup, a workspace with two launches, scalars of every kind.
namespace affine {

constexpr int kThreads = 256;
constexpr int kParts = 4;  // blocks a row
constexpr int kSmemBytes = 60 * 1024;  // above 48 KiB, so that it needs cudaFuncSetAttribute

__global__ void pack(const float* W, float* packed, double alpha, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) packed[i] = float(alpha) * W[i];
}

__global__ void rows(const float* X, const float* weights, float* Y, float* partial, float shift, bool flip) {
  extern __shared__ float sums[];
  constexpr int64_t n = Args::N;
  int64_t row = blockIdx.x;
  int64_t first = n * blockIdx.y / kParts, last = n * (blockIdx.y + 1) / kParts;
  float sum = 0;
  for (int64_t i = first + threadIdx.x; i < last; i += kThreads) {
    float y = fmaf(X[row * n + i], weights[i], shift);
    y = flip ? -y : y;
    Y[row * n + i] = y;
    sum += y;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[row * kParts + blockIdx.y] = sums[0];
}

__global__ void finish(const float* partial, float* S, int64_t m) {
  int64_t row = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (row >= m) return;
  float sum = 0;
  for (int part = 0; part < kParts; ++part) sum += partial[row * kParts + part];
  S[row] = sum;
}

}  // namespace affine

extern "C" size_t workspace_bytes(const Args& a) { return a.M * affine::kParts * sizeof(float); }

extern "C" cudaError_t setup(const Args&) {
  return cudaFuncSetAttribute(affine::rows, cudaFuncAttributeMaxDynamicSharedMemorySize, affine::kSmemBytes);
}

extern "C" cudaError_t prepare(const Args& a, void* packed, cudaStream_t stream) {
  affine::pack<<<unsigned((a.N + 255) / 256), 256, 0, stream>>>(a.W, static_cast<float*>(packed), a.alpha, a.N);
  return cudaPeekAtLastError();
}

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  float* partial = static_cast<float*>(a.workspace);
  const float* weights = static_cast<const float*>(a.packed);
  affine::rows<<<dim3(unsigned(a.M), affine::kParts), affine::kThreads, affine::kSmemBytes, stream>>>(
      a.X, weights, a.Y, partial, float(a.shift), a.flip);
  affine::finish<<<unsigned((a.M + 255) / 256), 256, 0, stream>>>(partial, a.S, a.M);
  return cudaPeekAtLastError();
}
