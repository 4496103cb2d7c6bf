// Forced into every kernel file before its first line. It includes NVIDIA's own headers in host mode, then gives
// CUDA's language words a host meaning. CuTe keeps emitting its PTX, since its instruction paths are switched on here
// one by one; __CUDACC__ and __CUDA_ARCH__ stay undefined for library headers.
#pragma once
#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <device_launch_parameters.h>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#define CUTE_ARCH_MMA_SM61_ENABLED
#define CUTE_ARCH_MMA_SM70_ENABLED
#define CUTE_ARCH_MMA_SM75_ENABLED
#define CUTE_ARCH_MMA_SM80_ENABLED
#define CUTE_ARCH_MMA_B1_AND_SM80_ENABLED
#define CUTE_ARCH_MMA_B1_XOR_SM80_ENABLED
#define CUTE_ARCH_MMA_F32_SM89_ENABLED
#define CUTE_ARCH_MMA_F16_SM89_ENABLED
#define CUTE_ARCH_LDSM_SM75_ACTIVATED 1
#define CUTE_ARCH_MOVM_SM75_ACTIVATED 1
#define CUTE_ARCH_CP_ASYNC_SM80_ENABLED
#define CUTE_CVTA_GENERIC_TO_SHARED_ACTIVATED 1
#define CUDA_CP_ASYNC_ACTIVATED 1

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __launch_bounds__
#undef __forceinline__
#undef __noinline__
#undef __grid_constant__
#undef __maxnreg__
#undef __cluster_dims__
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __shared__ __emu_shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __cluster_dims__(...) __emu_cluster_dims__
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __builtin_assume(x) ((void)0)
#define __trap() ::emu::trap()
// In the user's own files these tokens are renamed before preprocessing; there they have the device's values.
#define EMU_CUDA_ARCH 890
#define EMU_CUDACC 1
#define EMU_NVCC 1
#define EMU_NOINLINE __attribute__((noinline))

#define EMU_API __attribute__((noinline))
#define EMU_INLINE inline __attribute__((always_inline))
#define EMU_UNCHECKED __attribute__((no_sanitize("thread"), no_sanitize("alignment")))

namespace emu {

[[noreturn]] void trap();

// ---- launch ---------------------------------------------------------------------------------------------------
struct Cfg {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
inline Cfg cfg(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
  return {grid, block, shared, stream};
}
void run_grid(const Cfg& cfg, const char* name, const void* fn, void (*thunk)(void*), void* closure, const void* pc);

// Kernel arguments are copied once, as a real launch does.
template <class F, class... A>
EMU_API EMU_UNCHECKED void launch(const Cfg& c, const char* name, const void* fn, F&& call, A&&... args) {
  struct Closure {
    std::remove_reference_t<F>* call;
    std::tuple<std::decay_t<A>...> args;
  } closure{&call, std::tuple<std::decay_t<A>...>(static_cast<A&&>(args)...)};
  run_grid(c, name, fn, [](void* p) { auto* self = static_cast<Closure*>(p); std::apply(*self->call, self->args); }, &closure,
           __builtin_return_address(0));
}

// ---- shared memory --------------------------------------------------------------------------------------------
struct Slot {
  uint32_t launch = 0, offset = 0;
};
void* shared_slot(Slot* slot, size_t bytes, size_t align, const char* name);
void* dynamic_shared(size_t align);
template <class T, class Id>
EMU_INLINE T& shared_var(Id id, const char* name) {
  return *static_cast<T*>(shared_slot(id(), sizeof(T), alignof(T), name));
}
template <class T>
EMU_INLINE T& shared_dynamic() {
  return *static_cast<T*>(dynamic_shared(alignof(T)));
}

// ---- inline PTX -----------------------------------------------------------------------------------------------
struct Program;
Program* ptx_program(const char* text, const char* constraints, const char* file, int line);
void ptx_run(Program* program, uint64_t* values, const void* pc);

template <class T>
EMU_INLINE uint64_t to_bits(const T& value) {
  static_assert(sizeof(T) <= 8, "inline PTX operand of more than 64 bits");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <int N>
struct PtxOut {
  uint64_t v[N > 0 ? N : 1];
};
template <int N, class... V>
EMU_API EMU_UNCHECKED PtxOut<N> ptx_call(Program* program, V... in) {
  uint64_t values[sizeof...(V) + 1] = {in...};
  ptx_run(program, values, __builtin_return_address(0));
  PtxOut<N> out;
  for (int i = 0; i < N; ++i) out.v[i] = values[i];
  return out;
}
template <class T>
EMU_INLINE void from_bits(T& place, uint64_t bits) {
  __builtin_memcpy(&place, &bits, sizeof(T));
}
template <class T>
struct Out {  // "=r": never read before it is written
  T& ref;
  EMU_INLINE uint64_t load() const { return 0; }
};
template <class T>
struct InOut {  // "+r"
  T& ref;
  EMU_INLINE uint64_t load() const { return to_bits(ref); }
};
template <class T>
EMU_INLINE Out<T> out(T& ref) {
  return {ref};
}
template <class T>
EMU_INLINE InOut<T> inout(T& ref) {
  return {ref};
}
template <class... O>
EMU_INLINE std::tuple<O...> outs(O... o) {
  return std::tuple<O...>(o...);
}
template <class... O, size_t... I, class... In>
EMU_INLINE void ptx_apply(Program* program, std::tuple<O...> o, std::index_sequence<I...>, In... in) {
  auto result = ptx_call<sizeof...(O)>(program, std::get<I>(o).load()..., to_bits(in)...);
  (from_bits(std::get<I>(o).ref, result.v[I]), ...);
  (void)result;
}
template <class... O, class... In>
EMU_INLINE void ptx(Program* program, std::tuple<O...> o, In... in) {
  ptx_apply(program, o, std::index_sequence_for<O...>{}, in...);
}

}  // namespace emu

#include "runtime_templates.h"
#include "intrinsics.h"
#include "half_shims.h"
