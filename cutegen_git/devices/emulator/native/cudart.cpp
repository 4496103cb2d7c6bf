// The CUDA runtime calls that a launcher makes. Nothing is asynchronous here; errors are those of the real calls.
#include <cstdio>
#include <cstring>

#include "rt.h"

#define __CUDA_RUNTIME_API_H_NO_TEMPLATES
#include <cuda_runtime_api.h>

namespace emu {

struct Cfg {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
void run_all_blocks(const char* name, dim3 grid, dim3 block, size_t dynamic, void (*thunk)(void*), void* closure);

namespace {
cudaError_t last_error = cudaSuccess;
struct Attribute {
  const void* fn;
  size_t dynamic;
} attributes[64];
int n_attributes;

cudaError_t set_error(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}

// Without a function pointer (a kernel template whose arguments are deduced) any kernel's attribute counts.
size_t allowed_dynamic(const void* fn) {
  size_t most = kSharedDefault;
  for (int i = 0; i < n_attributes; ++i)
    if ((!fn || attributes[i].fn == fn) && attributes[i].dynamic > most) most = attributes[i].dynamic;
  return most;
}

bool refuse(cudaError_t e, const char* kind, uintptr_t pc, const char* name, const char* text) {
  run.kernel = name;
  report(kind, Severity::veto, pc, 0, "", -1, "%s", text);
  set_error(e);
  return true;
}

bool bad_launch(const Cfg& c, const char* name, const void* fn, uintptr_t pc) {
  char text[200];
  uint64_t threads = uint64_t(c.block.x) * c.block.y * c.block.z;
  if (!threads || threads > kMaxThreads || c.block.z > 64) {
    snprintf(text, sizeof text, "a block of %u x %u x %u threads (at most 1024, z at most 64)", c.block.x, c.block.y, c.block.z);
    return refuse(cudaErrorInvalidConfiguration, "launch-limit", pc, name, text);
  }
  if (!c.grid.x || !c.grid.y || !c.grid.z || c.grid.x > 0x7fffffff || c.grid.y > 65535 || c.grid.z > 65535) {
    snprintf(text, sizeof text, "a grid of %u x %u x %u blocks", c.grid.x, c.grid.y, c.grid.z);
    return refuse(cudaErrorInvalidConfiguration, "launch-limit", pc, name, text);
  }
  if (c.shared > kSharedOptIn || c.shared > allowed_dynamic(fn)) {
    snprintf(text, sizeof text, "%zu bytes of dynamic shared memory: %s", c.shared,
             c.shared > kSharedOptIn ? "more than the 101376 of sm_89"
                                     : "more than 49152 needs cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize)");
    return refuse(c.shared > kSharedOptIn ? cudaErrorInvalidValue : cudaErrorInvalidValue, "launch-limit", pc, name, text);
  }
  return false;
}
}  // namespace

void run_grid(const Cfg& c, const char* name, const void* fn, void (*thunk)(void*), void* closure, const void* caller) {
  auto pc = reinterpret_cast<uintptr_t>(caller);
  if (hot.in_kernel) unsupported(pc, "a launch inside a kernel (dynamic parallelism)");
  if (bad_launch(c, name, fn, pc)) return;
  run_all_blocks(name, c.grid, c.block, c.shared, thunk, closure);
}

}  // namespace emu

using emu::set_error;
#define RET reinterpret_cast<uintptr_t>(__builtin_return_address(0))

extern "C" {
cudaError_t cudaGetLastError() {
  cudaError_t e = emu::last_error;
  emu::last_error = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return emu::last_error; }
const char* cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorNotSupported: return "operation not supported";
    default: return "CUDA error";
  }
}
cudaError_t cudaFuncSetAttribute(const void* fn, cudaFuncAttribute attr, int value) {
  if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > emu::kSharedOptIn) {
    emu::report("launch-limit", emu::Severity::veto, RET, 0, "", -1, "cudaFuncSetAttribute asks for %d bytes of dynamic shared memory (at most %zu)", value,
                emu::kSharedOptIn);
    return set_error(cudaErrorInvalidValue);
  }
  for (int i = 0; i < emu::n_attributes; ++i)
    if (emu::attributes[i].fn == fn) return emu::attributes[i].dynamic = static_cast<size_t>(value), cudaSuccess;
  if (emu::n_attributes < 64) emu::attributes[emu::n_attributes++] = {fn, static_cast<size_t>(value)};
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = 1024, a->numRegs = 64, a->ptxVersion = 89, a->binaryVersion = 89;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int threads, size_t shared) {
  int by_threads = threads > 0 ? 1536 / threads : 0, by_shared = shared ? static_cast<int>((100u << 10) / (shared + 1024)) : 24;
  *n = by_threads < by_shared ? by_threads : by_shared;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* f, int threads, size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, threads, shared);
}
cudaError_t cudaGetDevice(int* d) { return *d = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int d) { return d == 0 ? cudaSuccess : set_error(cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr attr, int) {
  switch (attr) {
    case cudaDevAttrMultiProcessorCount: *v = 128; break;
    case cudaDevAttrMaxThreadsPerBlock: *v = 1024; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 1536; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = 49152; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = 101376; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = 102400; break;
    case cudaDevAttrMaxRegistersPerBlock: *v = 65536; break;
    case cudaDevAttrWarpSize: *v = 32; break;
    case cudaDevAttrComputeCapabilityMajor: *v = 8; break;
    case cudaDevAttrComputeCapabilityMinor: *v = 9; break;
    case cudaDevAttrL2CacheSize: *v = 72 << 20; break;
    case cudaDevAttrMaxGridDimX: *v = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *v = 65535; break;
    default: *v = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "emulated sm_89");
  p->major = 8, p->minor = 9, p->multiProcessorCount = 128, p->warpSize = 32, p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 1536, p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 101376;
  p->sharedMemPerMultiprocessor = 102400, p->regsPerBlock = 65536, p->l2CacheSize = 72 << 20, p->totalGlobalMem = size_t(24) << 30;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return emu::last_error; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return emu::last_error; }
cudaError_t cudaStreamCreate(cudaStream_t* s) { return *s = nullptr, cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return *s = nullptr, cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* e) { return *e = nullptr, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return *e = nullptr, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 1.0f, cudaSuccess; }

cudaError_t cudaMalloc(void** p, size_t bytes) {
  static int n;
  char name[32];
  snprintf(name, sizeof name, "cudaMalloc #%d", ++n);
  emu::Buffer* b = emu::add_buffer(name, emu::Role::workspace, bytes, 4, -1, 0, 0);
  if (!b) return set_error(cudaErrorMemoryAllocation);
  *p = reinterpret_cast<void*>(b->base);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
cudaError_t cudaFree(void* p) {
  if (!p) return cudaSuccess;
  emu::Buffer* b = emu::find_buffer(reinterpret_cast<uintptr_t>(p));
  if (!b || b->base != reinterpret_cast<uintptr_t>(p)) return set_error(cudaErrorInvalidValue);
  emu::release_buffer(b);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }

static cudaError_t touch(const void* p, size_t bytes, bool write, uintptr_t pc) {
  emu::Buffer* b = emu::find_buffer(reinterpret_cast<uintptr_t>(p));
  if (!b) return cudaSuccess;
  size_t at = reinterpret_cast<uintptr_t>(p) - b->base;
  if (at > b->bytes || bytes > b->bytes - at) {
    emu::report("oob-global", emu::Severity::veto, pc, 0, b->name, static_cast<int64_t>(at), "a runtime call %s %zu bytes of %zu", write ? "writes" : "reads", bytes,
                b->bytes);
    return set_error(cudaErrorInvalidValue);
  }
  if (write && b->cells)
    for (size_t i = at >> b->granule_shift, n = (at + bytes) >> b->granule_shift; i < n; ++i) b->cells[i] = 1ull << 63;
  if (write && b->role == emu::Role::input)
    emu::report("input-written", emu::Severity::veto, pc, 0, b->name, static_cast<int64_t>(at), "a runtime call writes %zu bytes", bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* p, int v, size_t n) {
  if (cudaError_t e = touch(p, n, true, RET)) return e;
  memset(p, v, n);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int v, size_t n, cudaStream_t) {
  if (cudaError_t e = touch(p, n, true, RET)) return e;
  memset(p, v, n);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind) {
  cudaError_t e = touch(s, n, false, RET);
  if (!e) e = touch(d, n, true, RET);
  if (!e) memmove(d, s, n);
  return e;
}
cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind, cudaStream_t) {
  cudaError_t e = touch(s, n, false, RET);
  if (!e) e = touch(d, n, true, RET);
  if (!e) memmove(d, s, n);
  return e;
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* s, size_t n, size_t offset, cudaMemcpyKind) {
  memcpy(static_cast<char*>(const_cast<void*>(symbol)) + offset, s, n);
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* s, size_t n, size_t offset, cudaMemcpyKind, cudaStream_t) {
  return cudaMemcpyToSymbol(symbol, s, n, offset, cudaMemcpyHostToDevice);
}
cudaError_t cudaMemcpyFromSymbol(void* d, const void* symbol, size_t n, size_t offset, cudaMemcpyKind) {
  memcpy(d, static_cast<const char*>(symbol) + offset, n);
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** p, const void* symbol) { return *p = const_cast<void*>(symbol), cudaSuccess; }

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { emu::unsupported(RET, "cudaLaunchKernel (use <<<...>>>)"); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) { emu::unsupported(RET, "cudaLaunchKernelEx (use <<<...>>>)"); }
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { emu::unsupported(RET, "a cooperative launch"); }
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { emu::unsupported(RET, "stream capture inside launch"); }
}
