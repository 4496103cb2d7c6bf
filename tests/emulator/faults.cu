// What a hostile or broken kernel does to its process.
#include <cstdlib>

namespace faults {

__global__ void plain(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void forever(float* y) {
  float v = 0;
  while (y[threadIdx.x] != 1.0f) v += 1.0f;
  y[0] = v;
}
__global__ void volatile_spin(float* y) {
  volatile float* p = y;
  if (blockIdx.x == 0)
    while (*p != 1.0f) {
    }
  y[0] = 1.0f;
}
__global__ void grid_barrier(unsigned* count) {
  __threadfence();
  atomicAdd(count, 1u);
  while (atomicAdd(count, 0u) < gridDim.x) {  // spin
  }
}
__global__ void parent(const float* x, float* y) { plain<<<1, 32>>>(x, y); }
__global__ void says(const float* x, float* y) {
  if (threadIdx.x == 0) printf("value %g\n", x[1]);
  y[threadIdx.x] = 0.0f;
}
__global__ void last_wins(float* y) {
  __shared__ int who;
  who = static_cast<int>(threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = static_cast<float>(who);
}
__global__ void wide(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
}
__device__ float branch(float v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return v + 1.0f;
#else
  return v - 1.0f;
#endif
}
__global__ void device_branch(const float* x, float* y) { y[threadIdx.x] = branch(x[threadIdx.x]); }
__global__ void uses_workspace(const float* x, float* y, float* w) {
  w[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = w[threadIdx.x];
}

}  // namespace faults

static int set_up;
extern "C" cudaError_t setup(const Args&) { return set_up = 1, cudaSuccess; }
extern "C" size_t workspace_bytes(const Args& a) { return 4 * a.n; }

extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  using namespace faults;
  switch (a.which) {
    case 0: plain<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 1: forever<<<1, 1, 0, s>>>(a.y); break;
    case 2: volatile_spin<<<2, 1, 0, s>>>(a.y); break;
    case 3: cudaMemsetAsync(a.y, 0, 4, s), grid_barrier<<<2, 1, 0, s>>>(reinterpret_cast<unsigned*>(a.y)); break;
    case 4: parent<<<1, 1, 0, s>>>(a.x, a.y); break;
    case 5: abort();
    case 6: exit(0);
    case 7: return cudaErrorNotSupported;
    case 8: says<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 9: last_wins<<<1, 64, 0, s>>>(a.y); break;
    case 10: wide<<<1, 16, 0, s>>>(a.x, a.y); break;
    case 11: device_branch<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 12: if (!set_up) return cudaErrorUnknown; uses_workspace<<<1, 64, 0, s>>>(a.x, a.y, static_cast<float*>(a.workspace)); break;
    case 13: return getenv("HOME") ? cudaErrorUnknown : cudaSuccess;
    case 14: { static volatile char* hog; for (int i = 0; i < 64; ++i) { hog = static_cast<char*>(malloc(1u << 30)); if (!hog) return cudaErrorMemoryAllocation; hog[0] = 1; } break; }
    case 15: plain<<<1, 32, 0, s>>>(a.x, a.y), plain<<<1, 5000, 0, s>>>(a.x, a.y); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
