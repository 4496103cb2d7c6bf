// Half-precision functions that NVIDIA's headers declare for the device only.
#pragma once

#define EMU_HALF(T, T2, to_float, from_float, make2)                                                              \
  EMU_INLINE T __hfma(T a, T b, T c) {                                                                            \
    return from_float(static_cast<float>(static_cast<double>(to_float(a)) * to_float(b) + to_float(c)));          \
  }                                                                                                               \
  EMU_INLINE T __hfma_relu(T a, T b, T c) {                                                                       \
    float v = to_float(__hfma(a, b, c));                                                                          \
    return from_float(v > 0 ? v : 0.0f);                                                                          \
  }                                                                                                               \
  EMU_INLINE T __hfma_sat(T a, T b, T c) { return from_float(__saturatef(to_float(__hfma(a, b, c)))); }           \
  EMU_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return make2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }         \
  EMU_INLINE T2 __hfma2_relu(T2 a, T2 b, T2 c) {                                                                  \
    return make2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                                         \
  }                                                                                                               \
  EMU_INLINE T2 __hfma2_sat(T2 a, T2 b, T2 c) { return make2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)); } \
  EMU_HALF_1(T, T2, hexp, h2exp, ::expf, to_float, from_float, make2)                                             \
  EMU_HALF_1(T, T2, hexp2, h2exp2, ::exp2f, to_float, from_float, make2)                                          \
  EMU_HALF_1(T, T2, hexp10, h2exp10, __exp10f, to_float, from_float, make2)                                       \
  EMU_HALF_1(T, T2, hlog, h2log, ::logf, to_float, from_float, make2)                                             \
  EMU_HALF_1(T, T2, hlog2, h2log2, ::log2f, to_float, from_float, make2)                                          \
  EMU_HALF_1(T, T2, hlog10, h2log10, ::log10f, to_float, from_float, make2)                                       \
  EMU_HALF_1(T, T2, hrcp, h2rcp, __frcp_rn, to_float, from_float, make2)                                          \
  EMU_HALF_1(T, T2, hsqrt, h2sqrt, __fsqrt_rn, to_float, from_float, make2)                                       \
  EMU_HALF_1(T, T2, hrsqrt, h2rsqrt, rsqrtf, to_float, from_float, make2)                                         \
  EMU_HALF_1(T, T2, hsin, h2sin, ::sinf, to_float, from_float, make2)                                             \
  EMU_HALF_1(T, T2, hcos, h2cos, ::cosf, to_float, from_float, make2)                                             \
  EMU_HALF_1(T, T2, htanh, h2tanh, ::tanhf, to_float, from_float, make2)                                          \
  EMU_HALF_1(T, T2, htanh_approx, h2tanh_approx, ::tanhf, to_float, from_float, make2)                            \
  EMU_HALF_1(T, T2, hfloor, h2floor, ::floorf, to_float, from_float, make2)                                       \
  EMU_HALF_1(T, T2, hceil, h2ceil, ::ceilf, to_float, from_float, make2)                                          \
  EMU_HALF_1(T, T2, htrunc, h2trunc, ::truncf, to_float, from_float, make2)                                       \
  EMU_HALF_1(T, T2, hrint, h2rint, ::rintf, to_float, from_float, make2)

#define EMU_HALF_1(T, T2, one, two, function, to_float, from_float, make2)        \
  EMU_INLINE T one(T v) { return from_float(function(to_float(v))); }             \
  EMU_INLINE T2 two(T2 v) { return make2(one(v.x), one(v.y)); }

EMU_HALF(__half, __half2, __half2float, __float2half, __halves2half2)
EMU_HALF(__nv_bfloat16, __nv_bfloat162, __bfloat162float, __float2bfloat16, __halves2bfloat162)

#define EMU_HALF_INT(from, T, to, I, to_float)                                                                  \
  EMU_INLINE I __##from##2##to##_rn(T v) { return ::emu::saturate_to<I>(__builtin_nearbyintf(to_float(v))); }   \
  EMU_INLINE I __##from##2##to##_rd(T v) { return ::emu::saturate_to<I>(__builtin_floorf(to_float(v))); }       \
  EMU_INLINE I __##from##2##to##_ru(T v) { return ::emu::saturate_to<I>(__builtin_ceilf(to_float(v))); }
#define EMU_HALF_INTS(from, T, to_float)                     \
  EMU_HALF_INT(from, T, int, int, to_float)                  \
  EMU_HALF_INT(from, T, uint, unsigned, to_float)            \
  EMU_HALF_INT(from, T, short, short, to_float)              \
  EMU_HALF_INT(from, T, ushort, unsigned short, to_float)    \
  EMU_HALF_INT(from, T, ll, long long, to_float)             \
  EMU_HALF_INT(from, T, ull, unsigned long long, to_float)
EMU_HALF_INTS(half, __half, __half2float)
EMU_HALF_INTS(bfloat16, __nv_bfloat16, __bfloat162float)
