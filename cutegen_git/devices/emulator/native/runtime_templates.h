// The typed forms of runtime calls, which NVIDIA's header gives to nvcc alone.
#pragma once

template <class F>
inline cudaError_t cudaFuncSetAttribute(F* fn, cudaFuncAttribute attr, int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(fn), attr, value);
}
template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F* fn, cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(fn), config);
}
template <class F>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, F* fn) {
  return ::cudaFuncGetAttributes(attr, reinterpret_cast<const void*>(fn));
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, F* fn, int threads, size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, reinterpret_cast<const void*>(fn), threads, shared);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* src, size_t n, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol(static_cast<const void*>(&symbol), src, n, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* src, size_t n, size_t offset, cudaMemcpyKind kind, cudaStream_t s = nullptr) {
  return ::cudaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), src, n, offset, kind, s);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* dst, const T& symbol, size_t n, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(dst, static_cast<const void*>(&symbol), n, offset, kind);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
  return ::cudaGetSymbolAddress(p, static_cast<const void*>(&symbol));
}

namespace emu {
template <class... P, size_t... I>
inline cudaError_t launch_pointers(const Cfg& c, void (*fn)(P...), void** args, std::index_sequence<I...>) {
  launch(c, "cudaLaunchKernel", reinterpret_cast<const void*>(fn), [fn](auto&&... a) { fn(a...); }, *static_cast<std::decay_t<P>*>(args[I])...);
  return cudaPeekAtLastError();
}
}  // namespace emu

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*fn)(P...), dim3 grid, dim3 block, void** args, size_t shared = 0, cudaStream_t stream = nullptr) {
  return ::emu::launch_pointers(::emu::cfg(grid, block, shared, stream), fn, args, std::index_sequence_for<P...>{});
}
// NVIDIA's template of that name loses the types of the arguments.
#define cudaLaunchKernelEx emu_cudaLaunchKernelEx
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*fn)(P...), A&&... args) {
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == cudaLaunchAttributeClusterDimension || c->attrs[i].id == cudaLaunchAttributeCooperative)
      return ::cudaLaunchKernelExC(c, nullptr, nullptr);
  ::emu::launch(::emu::cfg(c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream), "cudaLaunchKernelEx", reinterpret_cast<const void*>(fn),
                [fn](auto&&... a) { fn(a...); }, static_cast<P>(args)...);
  return cudaPeekAtLastError();
}
