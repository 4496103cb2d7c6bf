// One planted bug a case, beside its corrected twin. The word behind "want:" is what must be reported for that line when
// `bad` is set; the twin must stay silent.
#include <cuda_fp16.h>

namespace bugs {

template <int N>
__device__ float block_sum(float v, float* part) {
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;  // want: 11 race-shared
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < N / 32; ++i) sum += part[i];
  return sum;
}

__global__ void one_past(const float* x, float* y, int n, int bad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n + bad) y[i] = 1.0f;  // want: 1 oob-global
}
__global__ void before_first(const float* x, float* y, int n, int bad) {
  int i = threadIdx.x;
  y[i] = i > 0 || bad ? x[i - 1] : 0.0f;  // want: 2 oob-global
}
__global__ void past_workspace(float* w, int words, int bad) {
  w[threadIdx.x + (bad ? words : 0)] = 2.0f;  // want: 3 oob-global
}
__global__ void static_overrun(float* y, int bad) {
  __shared__ float t[32];
  t[threadIdx.x + bad] = 1.0f;  // want: 4 oob-shared
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x == 31 && bad ? 30 : threadIdx.x];
}
__global__ void dynamic_short(float* y) {
  extern __shared__ float d[];
  d[threadIdx.x] = 1.0f;  // want: 5 oob-shared
  __syncthreads();
  if (threadIdx.x == 0) y[0] = d[0];
}
__global__ void shared_before(float* y, int bad) {
  __shared__ float t[64];
  t[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = t[static_cast<int>(threadIdx.x) - bad];  // want: 6 oob-shared
}
__global__ void misaligned_load(const float* x, float* y, int bad) {
  float4 v = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x + bad);  // want: 7 misaligned
  y[threadIdx.x] = v.x + v.w;
}
__global__ void misaligned_shared(float* y, int bad) {
  __shared__ float t[72];
  for (int i = threadIdx.x; i < 72; i += 32) t[i] = 1.0f;
  __syncthreads();
  float2 v = *reinterpret_cast<float2*>(t + 2 * threadIdx.x + bad);  // want: 8 misaligned
  y[threadIdx.x] = v.x + v.y;
}
__global__ void no_barrier_after_store(const float* x, float* y, int bad) {
  __shared__ float t[128];
  t[threadIdx.x] = x[threadIdx.x];
  if (!bad) __syncthreads();
  y[threadIdx.x] = t[127 - threadIdx.x];  // want: 9 race-shared|uninit-shared
}
__global__ void no_barrier_before_store(const float* x, float* y, int bad) {
  __shared__ float t[128];
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    t[threadIdx.x] = x[k * 128 + threadIdx.x];  // want: 10 race-shared
    __syncthreads();
    sum += t[127 - threadIdx.x];
    if (!bad) __syncthreads();
  }
  y[threadIdx.x] = sum;
}
__global__ void reduce_twice(const float* x, float* y, int bad) {
  __shared__ float part[4];
  float v = x[threadIdx.x];
  float a = block_sum<128>(v, part);
  if (!bad) __syncthreads();
  float b = block_sum<128>(v * v, part);
  y[threadIdx.x] = a + b;
}
__global__ void no_syncwarp(const float* x, float* y, int bad) {
  __shared__ float t[32];
  t[threadIdx.x] = x[threadIdx.x];
  if (!bad) __syncwarp();
  y[threadIdx.x] = t[31 - threadIdx.x];  // want: 12 race-shared|uninit-shared
}
__global__ void two_barriers(float* y, int bad) {
  if (threadIdx.x % 2 == 0 && bad)
    __syncthreads();  // want: 13 barrier-divergence
  else
    __syncthreads();  // want: 13 barrier-divergence
  y[threadIdx.x] = 1.0f;
}
__global__ void barrier_after_return(float* y, int bad) {
  y[threadIdx.x] = 1.0f;
  if (bad && threadIdx.x >= 40) return;
  __syncthreads();  // want: 14 barrier-exited
  y[threadIdx.x] = 2.0f;
}
__global__ void half_shuffles(float* y, int bad) {
  float v = 1.0f;
  if (threadIdx.x < 16 || !bad)
    v += __shfl_xor_sync(~0u, v, 1);  // want: 15 deadlock
  else
    __syncthreads();  // want: 15 deadlock
  y[threadIdx.x] = v;
}
__global__ void shuffle_after_return(float* y, int bad) {
  if (bad && threadIdx.x >= 16) return;
  float v = __shfl_xor_sync(~0u, 1.0f, 1);  // want: 16 warp-exited
  y[threadIdx.x] = v;
}
__global__ void mask_without_me(float* y, int bad) {
  unsigned mask = bad ? 0x0000ffffu : 0xffffffffu;
  y[threadIdx.x] = __shfl_xor_sync(mask, 1.0f, 1);  // want: 17 mask-without-caller
}
__global__ void null_pointer(const float* p, float* y) {
  y[threadIdx.x] = p[threadIdx.x];  // want: 18 oob-wild
}
__global__ void stray_pointer(const float* x, float* y, int64_t far) {
  y[threadIdx.x] = x[threadIdx.x + far];  // want: 19 oob-wild
}
__global__ void blocks_collide(float* y, int bad) {
  if (threadIdx.x == 0) y[bad ? 0 : blockIdx.x] = static_cast<float>(blockIdx.x);  // want: 20 race-global
}
__global__ void unwritten_shared(float* y, int bad) {
  __shared__ float t[64];
  if (threadIdx.x < 32 || !bad) t[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];  // want: 21 uninit-shared
}
__global__ void accumulate_unwritten(const float* x, float* y, int bad) {
  if (!bad) y[threadIdx.x] = 0.0f;
  y[threadIdx.x] += x[threadIdx.x];  // want: 22 uninit-global
}
__global__ void write_input(const float* x, float* y, int bad) {
  if (bad) const_cast<float*>(x)[threadIdx.x] = 0.0f;  // want: 23 input-written
  y[threadIdx.x] = 1.0f;
}
__global__ void fill(float* y) { y[threadIdx.x % 32] = 1.0f; }

__device__ __forceinline__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void cp16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared_address(to)), "l"(from));
}
__global__ void no_wait(const float* x, float* y, int bad) {
  __shared__ __align__(16) float t[128];
  cp16(t + 4 * threadIdx.x, x + 4 * threadIdx.x);
  asm volatile("cp.async.commit_group;\n" ::);
  if (!bad) asm volatile("cp.async.wait_group 0;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];  // want: 28 pending-shared
}
__global__ void wait_one_too_few(const float* x, float* y, int bad) {
  __shared__ __align__(16) float t[2][128];
  for (int s = 0; s < 2; ++s) {
    cp16(t[s] + 4 * threadIdx.x, x + 128 * s + 4 * threadIdx.x);
    asm volatile("cp.async.commit_group;\n" ::);
  }
  if (bad)
    asm volatile("cp.async.wait_group %0;\n" ::"n"(1));
  else
    asm volatile("cp.async.wait_all;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[0][threadIdx.x] + t[1][threadIdx.x];  // want: 29 pending-shared
}
__global__ void no_commit(const float* x, float* y, int bad) {
  __shared__ __align__(16) float t[128];
  cp16(t + 4 * threadIdx.x, x + 4 * threadIdx.x);
  if (!bad) asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group 0;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];  // want: 30 pending-shared
}
__global__ void cp_misaligned(const float* x, float* y, int bad) {
  __shared__ __align__(16) float t[128];
  cp16(t + 4 * threadIdx.x, x + 4 * threadIdx.x + bad);  // want: 31 misaligned
  asm volatile("cp.async.wait_all;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];
}
__global__ void cp_past(const float* x, float* y, int n, int bad) {
  __shared__ __align__(16) float t[128];
  cp16(t + 4 * threadIdx.x, x + 4 * threadIdx.x + (bad ? n - 64 : 0));  // want: 32 oob-global
  asm volatile("cp.async.wait_all;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];
}
__global__ void touch_while_pending(const float* x, float* y, int bad) {
  __shared__ __align__(16) float t[128];
  cp16(t + 4 * threadIdx.x, x + 4 * threadIdx.x);
  if (!bad) asm volatile("cp.async.wait_all;\n" ::);
  t[4 * threadIdx.x] = 0.0f;  // want: 33 pending-shared
  asm volatile("cp.async.wait_all;\n" ::);
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x];
}
__global__ void ldmatrix_askew(float* y, int bad) {
  __shared__ __align__(16) __half t[8 * 8 + 8];
  for (int i = threadIdx.x; i < 72; i += 32) t[i] = __float2half(1.0f);
  __syncthreads();
  unsigned v, at = shared_address(t + 8 * (threadIdx.x % 8) + bad);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\n" : "=r"(v) : "r"(at));  // want: 34 misaligned
  y[threadIdx.x] = static_cast<float>(v & 1);
}
__global__ void producer_consumer(const float* x, float* y, int bad) {
  __shared__ float t[32];
  if (threadIdx.x < 32) {
    t[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.arrive 1, 64;\n" ::: "memory");
  } else {
    if (!bad) asm volatile("bar.sync 1, 64;\n" ::: "memory");
    y[threadIdx.x - 32] = t[threadIdx.x - 32];  // want: 35 race-shared|uninit-shared
    if (bad) asm volatile("bar.sync 1, 64;\n" ::: "memory");
  }
}
__global__ void loop_of_barriers(float* y, int bad) {
  int trips = bad && threadIdx.x >= 32 ? 1 : 2;
  for (int i = 0; i < trips; ++i) __syncthreads();  // want: 36 barrier-exited
  y[threadIdx.x] = 1.0f;
}
__global__ void histogram(const float* x, float* y, int bad) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  int b = static_cast<int>(threadIdx.x) % 4;
  if (bad)
    bins[b] = bins[b] + 1;  // want: 37 race-shared
  else
    atomicAdd(&bins[b], 1);
  __syncthreads();
  if (threadIdx.x < 4) y[threadIdx.x] = static_cast<float>(bins[threadIdx.x]);
}
__global__ void read_neighbour_block(float* w, float* y, int bad) {
  int n = static_cast<int>(gridDim.x), me = static_cast<int>(blockIdx.x);
  w[me] = static_cast<float>(me);
  int from = bad ? (me + 1) % n : me;
  if (bad) w[from] = w[from] + 0.5f;  // want: 38 race-global|uninit-global
  y[me] = w[me];
}
__global__ void global_in_block(const float* x, float* w, float* y, int bad) {
  w[threadIdx.x] = x[threadIdx.x];
  if (!bad) __syncthreads();
  y[threadIdx.x] = w[(threadIdx.x + 32) % 128];  // want: 39 race-global|uninit-global
}
__global__ void stops(float* y, int bad) {
  if (bad && threadIdx.x == 3) __trap();  // want: 40 trap
  y[threadIdx.x] = 1.0f;
}
__global__ void asserts(float* y, int bad) {
  assert(!(bad && threadIdx.x == 3));  // want: 41 assert
  y[threadIdx.x] = 1.0f;
}
__global__ void transpose(const float* x, float* y, int bad) {
  __shared__ float t[16][17];
  t[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
  if (!bad) __syncthreads();
  y[threadIdx.y * 16 + threadIdx.x] = t[threadIdx.x][threadIdx.y];  // want: 42 race-shared|uninit-shared
}
__global__ void wrong_stage(const float* x, float* y, int bad) {
  __shared__ float t[2][64];
  float sum = 0;
  t[0][threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < 4; ++k) {
    __syncthreads();
    int next = (k + (bad ? 2 : 1)) % 2;
    if (k < 3) t[next][threadIdx.x] = x[64 * (k + 1) + threadIdx.x];  // want: 43 race-shared
    sum += t[k % 2][63 - threadIdx.x];  // want: 43 race-shared|uninit-shared
  }
  y[threadIdx.x] = sum;
}
__global__ void reuse_union(const float* x, float* y, int bad) {
  extern __shared__ float d[];
  float* first = d;
  int* second = reinterpret_cast<int*>(d);
  first[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float v = first[63 - threadIdx.x];
  if (!bad) __syncthreads();
  second[threadIdx.x] = static_cast<int>(threadIdx.x);  // want: 44 race-shared
  __syncthreads();
  y[threadIdx.x] = v + static_cast<float>(second[63 - threadIdx.x]);
}
__global__ void stack(float* y, int bad) {
  volatile char local[1 << 16];
  int deep = bad ? 1 << 20 : 1 << 10;
  volatile char* p = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(deep)));  // want: 45 stack-overflow
  p[0] = 1, local[0] = 1;
  y[threadIdx.x] = static_cast<float>(p[0] + local[0]);
}
__global__ void int8_lost(const float* x, signed char* y, int bad) {
  int i = bad ? static_cast<int>(threadIdx.x) / 64 : static_cast<int>(threadIdx.x);
  y[i] = static_cast<signed char>(threadIdx.x);  // want: 46 race-global
}

}  // namespace bugs

extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  using namespace bugs;
  int bad = a.bad, n = static_cast<int>(a.n);
  float* w = static_cast<float*>(a.workspace);
  switch (a.which) {
    case 1: one_past<<<(n + 63) / 64, 64, 0, s>>>(a.x, a.y, n, bad); break;
    case 2: before_first<<<1, 64, 0, s>>>(a.x, a.y, n, bad); break;
    case 3: past_workspace<<<1, 32, 0, s>>>(w, 256, bad); break;
    case 4: static_overrun<<<1, 32, 0, s>>>(a.y, bad); break;
    case 5: dynamic_short<<<1, 64, bad ? 192 : 256, s>>>(a.y); break;
    case 6: shared_before<<<1, 64, 0, s>>>(a.y, bad); break;
    case 7: misaligned_load<<<1, 16, 0, s>>>(a.x, a.y, bad); break;
    case 8: misaligned_shared<<<1, 32, 0, s>>>(a.y, bad); break;
    case 9: no_barrier_after_store<<<1, 128, 0, s>>>(a.x, a.y, bad); break;
    case 10: no_barrier_before_store<<<1, 128, 0, s>>>(a.x, a.y, bad); break;
    case 11: reduce_twice<<<1, 128, 0, s>>>(a.x, a.y, bad); break;
    case 12: no_syncwarp<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 13: two_barriers<<<1, 64, 0, s>>>(a.y, bad); break;
    case 14: barrier_after_return<<<1, 64, 0, s>>>(a.y, bad); break;
    case 15: half_shuffles<<<1, 32, 0, s>>>(a.y, bad); break;
    case 16: shuffle_after_return<<<1, 32, 0, s>>>(a.y, bad); break;
    case 17: mask_without_me<<<1, 32, 0, s>>>(a.y, bad); break;
    case 18: null_pointer<<<1, 32, 0, s>>>(bad ? nullptr : a.x, a.y); break;
    case 19: stray_pointer<<<1, 32, 0, s>>>(a.x, a.y, bad ? int64_t(1) << 36 : 0); break;
    case 20: blocks_collide<<<4, 32, 0, s>>>(a.y, bad); break;
    case 21: unwritten_shared<<<1, 64, 0, s>>>(a.y, bad); break;
    case 22: accumulate_unwritten<<<1, 64, 0, s>>>(a.x, a.y, bad); break;
    case 23: write_input<<<1, 64, 0, s>>>(a.x, a.y, bad); break;
    case 24: fill<<<1, bad && a.x[0] > -1e30f ? 32 : 64, 0, s>>>(a.y); break;  // want: 24 host-access
    case 25: fill<<<1, bad ? 2048 : 64, 0, s>>>(a.y); break;  // want: 25 launch-limit
    case 26: fill<<<1, 64, bad ? 65536 : 49152, s>>>(a.y); break;  // want: 26 launch-limit
    case 27: fill<<<bad ? 0 : 1, 64, 0, s>>>(a.y); break;  // want: 27 launch-limit
    case 28: no_wait<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 29: wait_one_too_few<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 30: no_commit<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 31: cp_misaligned<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 32: cp_past<<<1, 32, 0, s>>>(a.x, a.y, n, bad); break;
    case 33: touch_while_pending<<<1, 32, 0, s>>>(a.x, a.y, bad); break;
    case 34: ldmatrix_askew<<<1, 32, 0, s>>>(a.y, bad); break;
    case 35: producer_consumer<<<1, 64, 0, s>>>(a.x, a.y, bad); break;
    case 36: loop_of_barriers<<<1, 64, 0, s>>>(a.y, bad); break;
    case 37: histogram<<<1, 128, 0, s>>>(a.x, a.y, bad); break;
    case 38: read_neighbour_block<<<4, 1, 0, s>>>(w, a.y, bad); break;
    case 39: global_in_block<<<1, 128, 0, s>>>(a.x, w, a.y, bad); break;
    case 40: stops<<<1, 32, 0, s>>>(a.y, bad); break;
    case 41: asserts<<<1, 32, 0, s>>>(a.y, bad); break;
    case 42: transpose<<<1, dim3(16, 16), 0, s>>>(a.x, a.y, bad); break;
    case 43: wrong_stage<<<1, 64, 0, s>>>(a.x, a.y, bad); break;
    case 44: reuse_union<<<1, 64, 256, s>>>(a.x, a.y, bad); break;
    case 45: stack<<<1, 32, 0, s>>>(a.y, bad); break;
    case 46: int8_lost<<<1, 128, 0, s>>>(a.x, reinterpret_cast<signed char*>(a.y), bad); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
