// Row softmax, one block a row: the parts that honest and cheating kernels share.
#pragma once

namespace rows {

constexpr int kThreads = 128;

struct Add {
  static __device__ float of(float a, float b) { return a + b; }
  static constexpr float kNone = 0.f;
};
struct Max {
  static __device__ float of(float a, float b) { return fmaxf(a, b); }
  static constexpr float kNone = -3.0e38f;
};

// The value over all threads of the block.
template <class Op>
__device__ float all(float value) {
  __shared__ float part[kThreads];
  part[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = Op::of(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  float result = part[0];
  __syncthreads();
  return result;
}

}  // namespace rows
