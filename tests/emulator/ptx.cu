// Inline PTX of many kinds, one case each; results go to y as 32-bit words.
#include <cuda_fp16.h>

namespace ptx {

__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// t[r][c] = 8 r + c in matrix m of 64 elements: element value is its own index.
template <int Count, bool Trans>
__global__ void ldmatrix(unsigned* y) {
  __shared__ __align__(16) unsigned short t[4 * 64];
  for (int i = threadIdx.x; i < 256; i += 32) t[i] = static_cast<unsigned short>(i);
  __syncthreads();
  unsigned r[4] = {0, 0, 0, 0}, row = at(t + 8 * threadIdx.x);
  if constexpr (Count == 1 && !Trans) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row));
  if constexpr (Count == 1 && Trans) asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row));
  if constexpr (Count == 2 && !Trans)
    asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row));
  if constexpr (Count == 2 && Trans)
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row));
  if constexpr (Count == 4 && !Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  if constexpr (Count == 4 && Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  for (int i = 0; i < Count; ++i) y[32 * i + threadIdx.x] = r[i];
}
__global__ void movmatrix(unsigned* y) {
  int r = threadIdx.x / 4, c = 2 * (threadIdx.x % 4);
  unsigned a = static_cast<unsigned>(8 * r + c) | static_cast<unsigned>(8 * r + c + 1) << 16, d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
  y[threadIdx.x] = d;
}
// Every form of cp.async: sizes, zero fill, ignore-src, hints.
__global__ void cp_async(const float* x, float* y) {
  __shared__ __align__(16) float t[8][4];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 32; ++i) t[i / 4][i % 4] = -1.0f;
    unsigned d = at(t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(d), "l"(x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(d + 16), "l"(x + 2));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(d + 32), "l"(x + 4));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;" ::"r"(d + 48), "l"(x + 8), "n"(16));
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(d + 64), "l"(x + 12), "n"(16), "r"(8));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(d + 80), "l"(x + 16));
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(d + 96), "l"(x + 20), "l"(policy));
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p cp.async.ca.shared.global [%0], [%1], 16;\n}\n" ::"r"(d + 112), "l"(x + 24), "r"(0));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\n" ::);
    for (int i = 0; i < 32; ++i) y[i] = t[i / 4][i % 4];
  }
}
__global__ void integers(unsigned* y, unsigned a, unsigned b) {
  unsigned r;
  unsigned long long w;
  int i = 0;
  asm("add.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("mul.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(7)); y[i++] = r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(w) : "r"(a), "r"(b)); y[i++] = static_cast<unsigned>(w >> 32);
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(0x0f0f0f0f)); y[i++] = r;
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(a)); y[i++] = r;
  asm("bfe.s32 %0, %1, 28, 4;" : "=r"(r) : "r"(a)); y[i++] = r;
  asm("bfi.b32 %0, %1, %2, 8, 8;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("popc.b32 %0, %1;" : "=r"(r) : "r"(a)); y[i++] = r;
  asm("clz.b32 %0, %1;" : "=r"(r) : "r"(a >> 5)); y[i++] = r;
  asm("brev.b32 %0, %1;" : "=r"(r) : "r"(a)); y[i++] = r;
  asm("shf.l.wrap.b32 %0, %1, %2, 8;" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("shr.s32 %0, %1, 4;" : "=r"(r) : "r"(a)); y[i++] = r;
  asm("{.reg .pred p, q; setp.lt.s32 p|q, %1, %2; selp.b32 %0, 11, 22, p;}" : "=r"(r) : "r"(a), "r"(b)); y[i++] = r;
  asm("{\n\t.reg .u32 lo, hi;\n\tmov.b64 {lo, hi}, %1;\n\tadd.u32 %0, lo, hi;\n}" : "=r"(r) : "l"(0x0000000500000007ull)); y[i++] = r;
  asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(a), "r"(b)); y[i++] = static_cast<unsigned>(w >> 32);
  asm("mov.u32 %0, %%laneid;" : "=r"(r)); y[i++] = r;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x01ff0203), "r"(0x02030405), "r"(100)); y[i++] = r;
  asm("cvt.s32.s8 %0, %1;" : "=r"(r) : "r"(0xf0)); y[i++] = r;
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"(300)); y[i++] = r;
}
__global__ void floats(float* y, float a, float b) {
  float r;
  unsigned u;
  unsigned short h;
  int i = 0;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(1.0f)); y[i++] = r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); y[i++] = r;
  asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); y[i++] = r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); y[i++] = r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); y[i++] = r;
  asm("max.f32 %0, %1, 0f40400000;" : "=f"(r) : "f"(a)); y[i++] = r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(1.0f + 1.0f / 2048)); y[i++] = __uint_as_float(u);
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a)); y[i++] = __half2float(__ushort_as_half(h));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(a), "f"(b)); y[i++] = __half2float(__ushort_as_half(static_cast<unsigned short>(u)));
  y[i++] = __half2float(__ushort_as_half(static_cast<unsigned short>(u >> 16)));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(a), "f"(b)); y[i++] = __uint_as_float(u << 16);
  asm("{.reg .f16x2 t; mov.b32 t, %1; add.f16x2 %0, t, t;}" : "=r"(u) : "r"(0x40003c00)); y[i++] = static_cast<float>(u == 0x44004000);
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(u) : "f"(2.5f)); y[i++] = static_cast<float>(u);
  asm("cvt.rn.f32.s32 %0, %1;" : "=f"(r) : "r"(-7)); y[i++] = r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(2.0f), "f"(1000.0f)); y[i++] = static_cast<float>(h);
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(u) : "h"(static_cast<unsigned short>(0x4038))); y[i++] = static_cast<float>(u == 0x40003c00);
}
__global__ void memory(const float* x, float* y) {
  __shared__ __align__(16) float t[64];
  float a, b, c, d;
  unsigned p = at(t), old;
  int i = threadIdx.x;
  t[2 * i] = t[2 * i + 1] = 0.0f;
  __syncwarp();
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * (i % 4)));
  if (i < 16) asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(p + 8 * i), "f"(a + b), "f"(c + d));
  __syncwarp();
  asm volatile("{.reg .pred q; setp.lt.u32 q, %1, 16; mov.f32 %0, 0f3f800000; @q ld.shared.f32 %0, [%2+4];}" : "=f"(a) : "r"(i), "r"(p + 8 * i));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(y + i), "f"(a) : "memory");
  __syncwarp();
  asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(old) : "r"(p + 252));
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(y + 40), "f"(1.0f) : "memory");
  __syncwarp();
  if (i == 0) y[41] = t[63] == __uint_as_float(32u);
}
__global__ void warp(unsigned* y) {
  unsigned lane = threadIdx.x, r, q;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(r) : "r"(lane)); y[lane] = r;
  asm volatile("{.reg .pred p; shfl.sync.up.b32 %0|p, %2, 4, 0x0, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(r), "=r"(q) : "r"(lane));
  y[32 + lane] = q ? r : 99;
  asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(r) : "r"(lane)); y[64 + lane] = r;
  asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(static_cast<int>(lane) - 40)); y[96 + lane] = r;
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane / 16)); y[128 + lane] = r;
  asm volatile("activemask.b32 %0;" : "=r"(r)); y[160 + lane] = r;
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); y[192 + lane] = r;
}
__global__ void saturating(const unsigned* x, int* y) {
  int d[2];
  asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(0x7f7f7f7f), "r"(0x7f7f7f7f), "r"(0x7fffffff), "r"(-5));
  y[2 * threadIdx.x] = d[0], y[2 * threadIdx.x + 1] = d[1];
}
__global__ void unknown(unsigned* y) {
  unsigned r;
  asm volatile("bfind.u32 %0, %1;" : "=r"(r) : "r"(threadIdx.x));
  y[threadIdx.x] = r;
}

}  // namespace ptx

extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  using namespace ptx;
  unsigned* u = reinterpret_cast<unsigned*>(a.y);
  switch (a.which) {
    case 1: ldmatrix<1, false><<<1, 32, 0, s>>>(u); break;
    case 2: ldmatrix<2, false><<<1, 32, 0, s>>>(u); break;
    case 3: ldmatrix<4, false><<<1, 32, 0, s>>>(u); break;
    case 4: ldmatrix<1, true><<<1, 32, 0, s>>>(u); break;
    case 5: ldmatrix<2, true><<<1, 32, 0, s>>>(u); break;
    case 6: ldmatrix<4, true><<<1, 32, 0, s>>>(u); break;
    case 7: movmatrix<<<1, 32, 0, s>>>(u); break;
    case 8: cp_async<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 9: integers<<<1, 1, 0, s>>>(u, 0x89abcdefu, 0x01234567u); break;
    case 10: floats<<<1, 1, 0, s>>>(a.y, 1.5f, -0.25f); break;
    case 11: cudaMemsetAsync(a.y, 0, 256, s), memory<<<1, 32, 0, s>>>(a.x, a.y); break;
    case 12: warp<<<1, 32, 0, s>>>(u); break;
    case 13: saturating<<<1, 32, 0, s>>>(reinterpret_cast<const unsigned*>(a.x), reinterpret_cast<int*>(a.y)); break;
    case 14: unknown<<<1, 32, 0, s>>>(u); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
