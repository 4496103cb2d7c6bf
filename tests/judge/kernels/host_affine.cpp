// The affine task for the fake CUDA runtime, with all of the ABI. Compiled with the task's own generated header in
// front, so that the compiler's layout of Args is held against the judge's.
#include <cmath>

static bool is_set_up = false;

extern "C" size_t workspace_bytes(const Args& a) { return a.M * sizeof(float); }

extern "C" cudaError_t setup(const Args&) {
  is_set_up = true;
  return cudaSuccess;
}

extern "C" cudaError_t prepare(const Args& a, void* packed, cudaStream_t) {
  for (int64_t i = 0; i < a.N; ++i) static_cast<float*>(packed)[i] = float(a.alpha) * a.W[i];
  return cudaSuccess;
}

extern "C" cudaError_t launch(const Args& a, cudaStream_t) {
  if (!is_set_up) return cudaErrorUnknown;
  float* sums = static_cast<float*>(a.workspace);
  for (int64_t row = 0; row < a.M; ++row) {
    if (!std::isnan(sums[row])) return cudaErrorUnknown;  // the workspace comes full of NaN
    sums[row] = 0;
    for (int64_t i = 0; i < a.N; ++i) {
      float y = a.X[row * a.N + i] * static_cast<const float*>(a.packed)[i] + float(a.shift);
      a.Y[row * a.N + i] = a.flip ? -y : y;
      sums[row] += a.flip ? -y : y;
    }
    a.S[row] = sums[row];
    sums[row] = NAN;
  }
  return cudaSuccess;
}
