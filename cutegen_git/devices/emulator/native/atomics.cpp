// The calls that -fsanitize=thread makes of std::atomic and __atomic_*: host code of a launcher has them (shared_ptr).
// Fibers are never preempted, so plain reads and writes are atomic; inside a kernel they are checked like CUDA's.
#include <cstdint>

#include "rt.h"
#include "warp.h"

namespace {
template <class T, class F>
T change(volatile T* p, const void* pc, F f) {
  if (emu::hot.in_kernel) emu::atomic_begin(const_cast<const T*>(p), sizeof(T), sizeof(T), pc);
  T old = *p;
  *p = f(old);
  return old;
}
}  // namespace

#define RET __builtin_return_address(0)
#define FETCH(bits, T, name, expression) \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int) { return change(p, RET, [v](T old) { return static_cast<T>(expression); }); }
#define ATOMICS(bits, T)                                                                                              \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                                            \
    return change(const_cast<volatile T*>(p), RET, [](T old) { return old; });                                        \
  }                                                                                                                   \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) { change(p, RET, [v](T) { return v; }); }                 \
  FETCH(bits, T, exchange, (static_cast<void>(old), v))                                                               \
  FETCH(bits, T, fetch_add, old + v)                                                                                  \
  FETCH(bits, T, fetch_sub, old - v)                                                                                  \
  FETCH(bits, T, fetch_and, old& v)                                                                                   \
  FETCH(bits, T, fetch_or, old | v)                                                                                   \
  FETCH(bits, T, fetch_xor, old ^ v)                                                                                  \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int, int) {                            \
    return change(p, RET, [=](T old) { return old == expected ? v : old; });                                          \
  }                                                                                                                   \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {                      \
    T want = *expected, old = change(p, RET, [=](T now) { return now == want ? v : now; });                           \
    *expected = old;                                                                                                  \
    return old == want;                                                                                               \
  }                                                                                                                   \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int a, int b) {                    \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, v, a, b);                                       \
  }

extern "C" {
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { emu::fence(); }
void __tsan_atomic_signal_fence(int) {}
}
