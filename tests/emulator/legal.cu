// Legal kernels that a hasty checker would refuse. Each must run silently and give the right result.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

namespace legal {

__constant__ float scale_table[4];
__device__ unsigned blocks_done;

// Warp code from before __syncwarp: lanes move in lockstep between volatile accesses.
__global__ void volatile_warp(const float* x, float* y) {
  __shared__ volatile float t[64];
  int i = threadIdx.x;
  t[i] = x[i];
  __syncthreads();
  if (i < 32) {
    t[i] += t[i + 32];
    t[i] += t[i + 16];
    t[i] += t[i + 8];
    t[i] += t[i + 4];
    t[i] += t[i + 2];
    t[i] += t[i + 1];
  }
  if (i == 0) y[0] = t[0];
}
__global__ void shared_histogram(const float* x, float* y, int n) {
  __shared__ unsigned bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[static_cast<int>(x[i]) & 7], 1u);
  __syncthreads();
  if (threadIdx.x < 8) y[threadIdx.x] = static_cast<float>(bins[threadIdx.x]);
}
__global__ void same_value(const float* x, float* y, int n) {
  __shared__ int found;
  found = 0;
  __syncthreads();
  if (x[threadIdx.x] > 5.0f) found = 1;
  __syncthreads();
  y[threadIdx.x] = static_cast<float>(found);
  y[100] = 7.0f;  // every thread, always the same
}
__global__ void padded_transpose(const float* x, float* y) {
  __shared__ float t[32][33];
  for (int r = threadIdx.y; r < 32; r += 8) t[r][threadIdx.x] = x[r * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8) y[r * 32 + threadIdx.x] = t[threadIdx.x][r];
}
__global__ void in_place(const float* x, float* y) {
  __shared__ float t[128];
  int i = threadIdx.x;
  t[i] = x[i];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {  // a scan that reuses its one buffer
    float v = i >= d ? t[i - d] : 0.0f;
    __syncthreads();
    t[i] += v;
    __syncthreads();
  }
  y[i] = t[i];
}
__global__ void early_return(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 1.0f;
}
__global__ void split_sum(const float* x, float* y, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
// The last block to arrive adds up what the others left.
__global__ void last_block(const float* x, float* y, float* w, int n) {
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) sum += x[i];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x == 0) {
    w[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&blocks_done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += w[b];
    y[0] = total;
    blocks_done = 0;
  }
}
// Producer warp and consumer warp with two named barriers, double-buffered.
__global__ void named_barriers(const float* x, float* y) {
  __shared__ float t[2][32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < 6; ++k) {
      if (k >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + k % 2) : "memory");
      t[k % 2][lane] = x[32 * k + lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + k % 2) : "memory");
    }
  } else {
    float sum = 0;
    for (int k = 0; k < 6; ++k) {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + k % 2) : "memory");
      sum += t[k % 2][31 - lane];
      if (k < 4) asm volatile("bar.arrive %0, 64;" ::"r"(3 + k % 2) : "memory");
    }
    y[lane] = sum;
  }
}
__global__ void half_warps(const float* x, float* y) {
  unsigned half = threadIdx.x / 16, mask = 0xffffu << (16 * half);
  float v = x[threadIdx.x];
  if (half == 0)
    for (int d = 8; d; d /= 2) v += __shfl_xor_sync(mask, v, d, 16);
  else
    for (int d = 8; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(mask, v, d, 16));
  y[threadIdx.x] = v;
}
__global__ void groups(const float* x, float* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  float v = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
  __shared__ float t[8];
  if (tile.thread_rank() == 0) t[tile.meta_group_rank()] = v;
  block.sync();
  y[block.thread_rank()] = t[7 - tile.meta_group_rank()];
}
__global__ void carved(const float* x, float* y, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  float4* a = reinterpret_cast<float4*>(raw);
  double* b = reinterpret_cast<double*>(raw + 16 * 32);
  unsigned char* c = raw + 16 * 32 + 8 * 32;
  int i = threadIdx.x;
  a[i] = reinterpret_cast<const float4*>(x)[i];
  b[i] = i;
  c[i] = static_cast<unsigned char>(i + 1);
  __syncthreads();
  int j = 31 - i;
  y[i] = a[j].x + a[j].w + static_cast<float>(b[j]) + static_cast<float>(c[j]);
}
__device__ float atomic_max(float* p, float v) {
  int* q = reinterpret_cast<int*>(p);
  int old = *q, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= v) break;
    old = atomicCAS(q, seen, __float_as_int(v));
  } while (old != seen);
  return __int_as_float(old);
}
__global__ void cas_loop(const float* x, float* y, int n) {
  __shared__ float best;
  if (threadIdx.x == 0) best = -1.0f;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int old = __float_as_int(-1.0f), seen;
    do {
      seen = old;
      if (__int_as_float(seen) >= x[i]) break;
      old = atomicCAS(reinterpret_cast<int*>(&best), seen, __float_as_int(x[i]));
    } while (old != seen);
  }
  __syncthreads();
  y[threadIdx.x] = best;
}
__global__ void constants(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * scale_table[threadIdx.x % 4]; }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void recursion(float* y) { y[threadIdx.x] = static_cast<float>(fib(static_cast<int>(threadIdx.x) % 12)); }
__global__ void odd_block(const float* x, float* y) {
  float v = x[threadIdx.x];
  for (int d = 16; d; d /= 2) {
    float o = __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 + d < 32 && threadIdx.x + d < blockDim.x) v += o;
  }
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v;
}
__global__ void bytes(const float* x, float* y) {
  unsigned char* out = reinterpret_cast<unsigned char*>(y);
  out[threadIdx.x] = static_cast<unsigned char>(static_cast<int>(x[threadIdx.x]) + 1);
}
__global__ void first_pass(const float* x, float* w) { w[threadIdx.x] = x[threadIdx.x] * 2.0f; }
__global__ void second_pass(const float* w, float* y) { y[threadIdx.x] = w[127 - threadIdx.x]; }
__global__ void pipelined(const float* x, float* y) {
  __shared__ __align__(16) float t[2][128];
  int i = threadIdx.x;
  __pipeline_memcpy_async(&t[0][4 * i], x + 4 * i, 16);
  __pipeline_commit();
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (k < 3) __pipeline_memcpy_async(&t[(k + 1) % 2][4 * i], x + 128 * (k + 1) + 4 * i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    sum += t[k % 2][127 - i];
    __syncwarp();
  }
  y[i] = sum;
}
__global__ void ballot_compact(const float* x, float* y) {
  bool keep = x[threadIdx.x] > 15.0f;
  unsigned mask = __ballot_sync(~0u, keep);
  int at = __popc(mask & ((1u << threadIdx.x) - 1));
  y[threadIdx.x] = -1.0f;
  __syncwarp();
  if (keep) y[at] = x[threadIdx.x];
}
// One warp works on, the others wait: whole warps at barriers in different places.
__global__ void one_warp_extra(const float* x, float* y) {
  __shared__ float t[64];
  t[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    t[threadIdx.x] += t[threadIdx.x + 32];
    __syncwarp();
    y[threadIdx.x] = t[31 - threadIdx.x];
  }
}

// One atomic for all lanes of a branch, found by activemask.
__global__ void aggregated(const float* x, float* y, unsigned* count) {
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
  if (x[threadIdx.x] > 9.0f) {
    unsigned mask = __activemask(), lane = threadIdx.x % 32;
    if (cg::coalesced_threads().size() != static_cast<unsigned>(__popc(mask))) return;
    int leader = __ffs(static_cast<int>(mask)) - 1;
    unsigned base = 0;
    if (static_cast<int>(lane) == leader) base = atomicAdd(count, static_cast<unsigned>(__popc(mask)));
    base = __shfl_sync(mask, base, leader);
    y[base + static_cast<unsigned>(__popc(mask & ((1u << lane) - 1)))] = 1.0f;
  }
}
__global__ void pointer_launch(const float* x, float* y, float by) { y[threadIdx.x] = x[threadIdx.x] * by; }

}  // namespace legal

extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  using namespace legal;
  int n = static_cast<int>(a.n);
  float* w = static_cast<float*>(a.workspace);
  switch (a.which) {
    case 1: volatile_warp<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 2: shared_histogram<<<1, 96, 0, s>>>(a.x, a.y, n); break;
    case 3: same_value<<<1, 64, 0, s>>>(a.x, a.y, n); break;
    case 4: padded_transpose<<<1, dim3(32, 8), 0, s>>>(a.x, a.y); break;
    case 5: in_place<<<1, 128, 0, s>>>(a.x, a.y); break;
    case 6: early_return<<<dim3((n + 95) / 96), dim3(96), 0, s>>>(a.x, a.y, n); break;
    case 7: cudaMemsetAsync(a.y, 0, 4, s), split_sum<<<5, 64, 0, s>>>(a.x, a.y, n); break;
    case 8: last_block<<<6, 32, 0, s>>>(a.x, a.y, w, n); break;
    case 9: named_barriers<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 10: half_warps<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 11: groups<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 12: carved<<<1, 32, 32 * (16 + 8 + 1), s>>>(a.x, a.y, n); break;
    case 13: cas_loop<<<1, 128, 0, s>>>(a.x, a.y, n); break;
    case 14: {
      float table[4] = {1, 2, 3, 4};
      cudaMemcpyToSymbol(scale_table, table, sizeof table);
      constants<<<1, 64, 0, s>>>(a.x, a.y);
      break;
    }
    case 15: recursion<<<1, 48, 0, s>>>(a.y); break;
    case 16: odd_block<<<1, 48, 0, s>>>(a.x, a.y); break;
    case 17: bytes<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 18: first_pass<<<1, 128, 0, s>>>(a.x, w), second_pass<<<1, 128, 0, s>>>(w, a.y); break;
    case 19: pipelined<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 20: ballot_compact<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 21: one_warp_extra<<<1, 64, 0, s>>>(a.x, a.y); break;
    case 22: {
      float by = 3.0f;
      const float* x = a.x;
      float* y = a.y;
      void* args[] = {&x, &y, &by};
      return cudaLaunchKernel(pointer_launch, dim3(1), dim3(64), args, 0, s);
    }
    case 23: aggregated<<<1, 64, 0, s>>>(a.x, a.y, reinterpret_cast<unsigned*>(w)); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
