// CUDA's device functions for the host compiler. Whatever touches other threads is a call into the runtime.
#pragma once

#define EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace emu {
void sync_block(const char* file, int line);
int sync_block_reduce(int kind, int value, const char* file, int line);
void sync_warp(unsigned mask);
void shuffle(unsigned mask, int mode, int lane, int width, uint64_t* value);
unsigned vote(unsigned mask, int kind, uint64_t value);
unsigned active_mask();
uint64_t warp_reduce(unsigned mask, int op, uint64_t value);
void fence();
long long clock_now();
uint32_t to_shared(const void* p);
void atomic_begin(const void* p, unsigned bytes, unsigned align, const void* pc);
void atomic_end();
void cp_async(void* dst, const void* src, unsigned bytes, unsigned copied);
void cp_async_commit();
void cp_async_wait_prior(int keep);
unsigned lane_id();
template <class T>
EMU_INLINE T shuffled(unsigned mask, int mode, T value, int lane, int width) {
  static_assert(sizeof(T) <= 8, "shuffle of more than 64 bits");
  uint64_t bits = to_bits(value);
  shuffle(mask, mode, lane, width, &bits);
  T out;
  from_bits(out, bits);
  return out;
}
}  // namespace emu

EMU_INLINE void __syncthreads(EMU_HERE) { ::emu::sync_block(file, line); }
EMU_INLINE int __syncthreads_count(int p, EMU_HERE) { return ::emu::sync_block_reduce(0, p, file, line); }
EMU_INLINE int __syncthreads_and(int p, EMU_HERE) { return ::emu::sync_block_reduce(1, p, file, line); }
EMU_INLINE int __syncthreads_or(int p, EMU_HERE) { return ::emu::sync_block_reduce(2, p, file, line); }
EMU_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { ::emu::sync_warp(mask); }
EMU_INLINE void __threadfence() { ::emu::fence(); }
EMU_INLINE void __threadfence_block() {}
EMU_INLINE void __threadfence_system() { ::emu::fence(); }
EMU_INLINE unsigned __activemask() { return ::emu::active_mask(); }
EMU_INLINE unsigned __ballot_sync(unsigned mask, int p) { return ::emu::vote(mask, 0, p != 0); }
EMU_INLINE int __any_sync(unsigned mask, int p) { return ::emu::vote(mask, 0, p != 0) != 0; }
EMU_INLINE int __all_sync(unsigned mask, int p) { return ::emu::vote(mask, 1, p != 0); }
EMU_INLINE int __uni_sync(unsigned mask, int p) { return ::emu::vote(mask, 2, p != 0); }
template <class T>
EMU_INLINE unsigned __match_any_sync(unsigned mask, T v) {
  return ::emu::vote(mask, 3, ::emu::to_bits(v));
}
template <class T>
EMU_INLINE unsigned __match_all_sync(unsigned mask, T v, int* pred) {
  unsigned m = ::emu::vote(mask, 4, ::emu::to_bits(v));
  *pred = m != 0;
  return m;
}
template <class T>
EMU_INLINE T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
  return ::emu::shuffled(mask, 0, v, lane, width);
}
template <class T>
EMU_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return ::emu::shuffled(mask, 1, v, static_cast<int>(delta), width);
}
template <class T>
EMU_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return ::emu::shuffled(mask, 2, v, static_cast<int>(delta), width);
}
template <class T>
EMU_INLINE T __shfl_xor_sync(unsigned mask, T v, int lane_mask, int width = 32) {
  return ::emu::shuffled(mask, 3, v, lane_mask, width);
}
EMU_INLINE unsigned __reduce_add_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 0, v)); }
EMU_INLINE int __reduce_add_sync(unsigned m, int v) { return static_cast<int>(::emu::warp_reduce(m, 0, static_cast<unsigned>(v))); }
EMU_INLINE unsigned __reduce_min_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 1, v)); }
EMU_INLINE int __reduce_min_sync(unsigned m, int v) { return static_cast<int>(::emu::warp_reduce(m, 2, static_cast<unsigned>(v))); }
EMU_INLINE unsigned __reduce_max_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 3, v)); }
EMU_INLINE int __reduce_max_sync(unsigned m, int v) { return static_cast<int>(::emu::warp_reduce(m, 4, static_cast<unsigned>(v))); }
EMU_INLINE unsigned __reduce_and_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 5, v)); }
EMU_INLINE unsigned __reduce_or_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 6, v)); }
EMU_INLINE unsigned __reduce_xor_sync(unsigned m, unsigned v) { return static_cast<unsigned>(::emu::warp_reduce(m, 7, v)); }

EMU_INLINE size_t __cvta_generic_to_shared(const void* p) { return ::emu::to_shared(p); }
EMU_INLINE size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
EMU_INLINE void* __cvta_shared_to_generic(size_t h) { return reinterpret_cast<void*>(0x100000000000ull + h); }
EMU_INLINE unsigned __isShared(const void* p) { return reinterpret_cast<size_t>(p) - 0x100000000000ull < (1u << 20); }
EMU_INLINE unsigned __isGlobal(const void* p) { return reinterpret_cast<size_t>(p) - 0x200000000000ull < (64ull << 30); }
EMU_INLINE long long clock64() { return ::emu::clock_now(); }
EMU_INLINE unsigned long long globaltimer() { return static_cast<unsigned long long>(::emu::clock_now()); }
EMU_INLINE void __nanosleep(unsigned) {}
EMU_INLINE void __prof_trigger(int) {}

// ---- cached loads and stores: the cache makes no difference here ---------------------------------------------------
#define EMU_LOAD(name)                       \
  template <class T>                         \
  EMU_INLINE T name(const T* p) {            \
    return *p;                               \
  }
EMU_LOAD(__ldg)
EMU_LOAD(__ldca)
EMU_LOAD(__ldcg)
EMU_LOAD(__ldcs)
EMU_LOAD(__ldcv)
EMU_LOAD(__ldlu)
#define EMU_STORE(name)                                          \
  template <class T, class V>                                    \
  EMU_INLINE void name(T* p, V v) {                              \
    *p = v;                                                      \
  }
EMU_STORE(__stcg)
EMU_STORE(__stcs)
EMU_STORE(__stwb)
EMU_STORE(__stwt)

// ---- atomics -----------------------------------------------------------------------------------------------------
namespace emu {
template <class T, class F>
EMU_API EMU_UNCHECKED T atomic(T* p, F change) {
  atomic_begin(p, sizeof(T), alignof(T), __builtin_return_address(0));
  T old = *p;
  *p = change(old);
  atomic_end();
  return old;
}
}  // namespace emu
#define EMU_ATOMIC_OP(name, T, expression)                                                     \
  EMU_INLINE T name(T* p, T v) {                                                               \
    return ::emu::atomic(p, [v](T old) EMU_UNCHECKED { return static_cast<T>(expression); });  \
  }                                                                                            \
  EMU_INLINE T name##_block(T* p, T v) { return name(p, v); }                                  \
  EMU_INLINE T name##_system(T* p, T v) { return name(p, v); }
#define EMU_ATOMIC_INTS(name, expression)                  \
  EMU_ATOMIC_OP(name, int, expression)                     \
  EMU_ATOMIC_OP(name, unsigned int, expression)            \
  EMU_ATOMIC_OP(name, unsigned long long int, expression)
EMU_ATOMIC_OP(atomicAdd, int, static_cast<unsigned>(old) + static_cast<unsigned>(v))
EMU_ATOMIC_OP(atomicAdd, unsigned int, old + v)
EMU_ATOMIC_OP(atomicAdd, unsigned long long int, old + v)
EMU_ATOMIC_OP(atomicAdd, float, old + v)
EMU_ATOMIC_OP(atomicAdd, double, old + v)
EMU_ATOMIC_OP(atomicAdd, __half, __hadd(old, v))
EMU_ATOMIC_OP(atomicAdd, __half2, __hadd2(old, v))
EMU_ATOMIC_OP(atomicAdd, __nv_bfloat16, __hadd(old, v))
EMU_ATOMIC_OP(atomicAdd, __nv_bfloat162, __hadd2(old, v))
EMU_ATOMIC_OP(atomicSub, int, static_cast<unsigned>(old) - static_cast<unsigned>(v))
EMU_ATOMIC_OP(atomicSub, unsigned int, old - v)
EMU_ATOMIC_INTS(atomicExch, v)
EMU_ATOMIC_OP(atomicExch, float, v)
EMU_ATOMIC_INTS(atomicMin, (old < v ? old : v))
EMU_ATOMIC_INTS(atomicMax, (old > v ? old : v))
EMU_ATOMIC_OP(atomicMin, long long int, (old < v ? old : v))
EMU_ATOMIC_OP(atomicMax, long long int, (old > v ? old : v))
EMU_ATOMIC_INTS(atomicAnd, (old & v))
EMU_ATOMIC_INTS(atomicOr, (old | v))
EMU_ATOMIC_INTS(atomicXor, (old ^ v))
EMU_ATOMIC_OP(atomicInc, unsigned int, (old >= v ? 0 : old + 1))
EMU_ATOMIC_OP(atomicDec, unsigned int, (old == 0 || old > v ? v : old - 1))
#define EMU_CAS(T)                                                                                              \
  EMU_INLINE T atomicCAS(T* p, T compare, T v) {                                                                \
    return ::emu::atomic(p, [compare, v](T old) EMU_UNCHECKED { return old == compare ? v : old; });            \
  }                                                                                                             \
  EMU_INLINE T atomicCAS_block(T* p, T compare, T v) { return atomicCAS(p, compare, v); }                       \
  EMU_INLINE T atomicCAS_system(T* p, T compare, T v) { return atomicCAS(p, compare, v); }
EMU_CAS(int)
EMU_CAS(unsigned int)
EMU_CAS(unsigned long long int)
EMU_CAS(unsigned short int)

// ---- bits --------------------------------------------------------------------------------------------------------
EMU_INLINE int __popc(unsigned v) { return __builtin_popcount(v); }
EMU_INLINE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
EMU_INLINE int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
EMU_INLINE int __clzll(long long v) { return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64; }
EMU_INLINE int __ffs(int v) { return __builtin_ffs(v); }
EMU_INLINE int __ffsll(long long v) { return __builtin_ffsll(v); }
EMU_INLINE unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1u) << (31 - i);
  return r;
}
EMU_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned sel = s >> (4 * i) & 15, byte = both >> (8 * (sel & 7)) & 255;
    if (sel & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}
EMU_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32 | lo) << (s & 31)) >> 32);
}
EMU_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (s & 31));
}
EMU_INLINE int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
EMU_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
EMU_INLINE int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
EMU_INLINE unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32); }
EMU_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
EMU_INLINE long long __mul64hi(long long a, long long b) { return static_cast<long long>((static_cast<__int128>(a) * b) >> 64); }
EMU_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}
EMU_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
  return c;
}
EMU_INLINE unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a > b ? a - b : b - a); }
EMU_INLINE int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
EMU_INLINE unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
EMU_INLINE float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
EMU_INLINE float __uint_as_float(unsigned v) { return __builtin_bit_cast(float, v); }
EMU_INLINE long long __double_as_longlong(double v) { return __builtin_bit_cast(long long, v); }
EMU_INLINE double __longlong_as_double(long long v) { return __builtin_bit_cast(double, v); }
EMU_INLINE int __double2hiint(double v) { return static_cast<int>(__builtin_bit_cast(long long, v) >> 32); }
EMU_INLINE int __double2loint(double v) { return static_cast<int>(__builtin_bit_cast(long long, v)); }

// ---- conversions: saturating, NaN to zero, as the hardware does -----------------------------------------------------
namespace emu {
template <class I, class F>
EMU_INLINE I saturate_to(F v) {
  constexpr I lo = static_cast<I>(std::is_signed_v<I> ? I(1) << (sizeof(I) * 8 - 1) : 0);
  constexpr I hi = static_cast<I>(~lo);
  if (v != v) return 0;
  if (v <= static_cast<F>(lo)) return lo;
  if (v >= static_cast<F>(hi)) return hi;
  return static_cast<I>(v);
}
}  // namespace emu
#define EMU_TO_INT(from, F, to, I)                                                                       \
  EMU_INLINE I __##from##2##to##_rn(F v) { return ::emu::saturate_to<I>(__builtin_nearbyint(v)); }       \
  EMU_INLINE I __##from##2##to##_rz(F v) { return ::emu::saturate_to<I>(__builtin_trunc(v)); }           \
  EMU_INLINE I __##from##2##to##_rd(F v) { return ::emu::saturate_to<I>(__builtin_floor(v)); }           \
  EMU_INLINE I __##from##2##to##_ru(F v) { return ::emu::saturate_to<I>(__builtin_ceil(v)); }
EMU_TO_INT(float, float, int, int)
EMU_TO_INT(float, float, uint, unsigned)
EMU_TO_INT(float, float, ll, long long)
EMU_TO_INT(float, float, ull, unsigned long long)
EMU_TO_INT(double, double, int, int)
EMU_TO_INT(double, double, uint, unsigned)
EMU_TO_INT(double, double, ll, long long)
EMU_TO_INT(double, double, ull, unsigned long long)
EMU_INLINE float __int2float_rn(int v) { return static_cast<float>(v); }
EMU_INLINE float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
EMU_INLINE float __ll2float_rn(long long v) { return static_cast<float>(v); }
EMU_INLINE float __ull2float_rn(unsigned long long v) { return static_cast<float>(v); }
EMU_INLINE float __double2float_rn(double v) { return static_cast<float>(v); }
EMU_INLINE double __int2double_rn(int v) { return v; }

// ---- float arithmetic ----------------------------------------------------------------------------------------------
EMU_INLINE float __fadd_rn(float a, float b) { return a + b; }
EMU_INLINE float __fsub_rn(float a, float b) { return a - b; }
EMU_INLINE float __fmul_rn(float a, float b) { return a * b; }
EMU_INLINE float __fdiv_rn(float a, float b) { return a / b; }
EMU_INLINE float __frcp_rn(float a) { return 1.0f / a; }
EMU_INLINE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
EMU_INLINE float __frsqrt_rn(float a) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))); }
EMU_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_INLINE float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_INLINE double __dadd_rn(double a, double b) { return a + b; }
EMU_INLINE double __dsub_rn(double a, double b) { return a - b; }
EMU_INLINE double __dmul_rn(double a, double b) { return a * b; }
EMU_INLINE double __ddiv_rn(double a, double b) { return a / b; }
EMU_INLINE double __drcp_rn(double a) { return 1.0 / a; }
EMU_INLINE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
EMU_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
EMU_INLINE float __fdividef(float a, float b) { return a / b; }
EMU_INLINE float fdividef(float a, float b) { return a / b; }
EMU_INLINE float fdivide(float a, float b) { return a / b; }
EMU_INLINE float __expf(float v) { return ::expf(v); }
EMU_INLINE float __exp10f(float v) { return static_cast<float>(__builtin_exp10(v)); }
EMU_INLINE float __logf(float v) { return ::logf(v); }
EMU_INLINE float __log2f(float v) { return ::log2f(v); }
EMU_INLINE float __log10f(float v) { return ::log10f(v); }
EMU_INLINE float __sinf(float v) { return ::sinf(v); }
EMU_INLINE float __cosf(float v) { return ::cosf(v); }
EMU_INLINE float __tanf(float v) { return ::tanf(v); }
EMU_INLINE float __powf(float a, float b) { return ::powf(a, b); }
EMU_INLINE float __tanhf(float v) { return ::tanhf(v); }
EMU_INLINE void __sincosf(float v, float* s, float* c) { *s = ::sinf(v), *c = ::cosf(v); }
EMU_INLINE float __saturatef(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
EMU_INLINE float rsqrtf(float v) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(v))); }
EMU_INLINE double rsqrt(double v) { return 1.0 / __builtin_sqrt(v); }
EMU_INLINE float rsqrt(float v) { return rsqrtf(v); }
EMU_INLINE float rcbrtf(float v) { return 1.0f / ::cbrtf(v); }
EMU_INLINE double normcdf(double v) { return 0.5 * ::erfc(-v * 0.70710678118654752440); }
EMU_INLINE float normcdff(float v) { return static_cast<float>(normcdf(v)); }
EMU_INLINE float exp10f(float v, int = 0) { return static_cast<float>(__builtin_exp10(v)); }
EMU_INLINE float sinpif(float v) { return static_cast<float>(::sin(3.14159265358979323846 * v)); }
EMU_INLINE float cospif(float v) { return static_cast<float>(::cos(3.14159265358979323846 * v)); }
EMU_INLINE float rhypotf(float a, float b) { return 1.0f / ::hypotf(a, b); }
EMU_INLINE float norm3df(float a, float b, float c) { return __builtin_sqrtf(a * a + b * b + c * c); }

// ---- min and max as CUDA declares them -------------------------------------------------------------------------------
#define EMU_MINMAX(T)                                                  \
  EMU_INLINE constexpr T min(T a, T b) { return b < a ? b : a; }       \
  EMU_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
EMU_MINMAX(int)
EMU_MINMAX(unsigned int)
EMU_MINMAX(long)
EMU_MINMAX(unsigned long)
EMU_MINMAX(long long)
EMU_MINMAX(unsigned long long)
EMU_INLINE float min(float a, float b) { return __builtin_fminf(a, b); }
EMU_INLINE float max(float a, float b) { return __builtin_fmaxf(a, b); }
EMU_INLINE double min(double a, double b) { return __builtin_fmin(a, b); }
EMU_INLINE double max(double a, double b) { return __builtin_fmax(a, b); }
#define EMU_MIXED(A, B, R)                                                                                        \
  EMU_INLINE constexpr R min(A a, B b) { return static_cast<R>(b) < static_cast<R>(a) ? static_cast<R>(b) : static_cast<R>(a); } \
  EMU_INLINE constexpr R max(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); }
EMU_MIXED(int, unsigned, unsigned)
EMU_MIXED(unsigned, int, unsigned)
EMU_MIXED(float, double, double)
EMU_MIXED(double, float, double)
EMU_INLINE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
EMU_INLINE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
