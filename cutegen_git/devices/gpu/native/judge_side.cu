// The judge's own side: memory that can be shared with a candidate's process, and the timing primitives for torch.
// Loaded by ctypes; every function returns a cudaError_t.
#include <cstring>

#include "timing.cuh"

static cutegen::Timer timer;

extern "C" {

int judge_open(int64_t flush_bytes) { return timer.open(flush_bytes); }

// Own allocations, a multiple of 2 MiB: cudaMalloc packs smaller ones into shared blocks, and an IPC handle maps
// the whole block into the other process.
int judge_alloc(int64_t bytes, void** pointer, unsigned char* handle64) {
  cudaError_t e = cudaMalloc(pointer, bytes);
  cudaIpcMemHandle_t handle;
  if (e == cudaSuccess) {
    e = cudaIpcGetMemHandle(&handle, *pointer);
    static_assert(sizeof handle == 64, "an IPC handle has 64 bytes");
    if (e == cudaSuccess) std::memcpy(handle64, &handle, sizeof handle);
  }
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

int judge_free(void* pointer) { return cudaFree(pointer); }

int judge_begin(int count, int64_t limit_ns, void* stream) {
  cudaError_t e = timer.reserve(count);
  if (e == cudaSuccess) e = cudaCtxResetPersistingL2Cache();
  return e == cudaSuccess ? timer.hold(static_cast<cudaStream_t>(stream), limit_ns) : e;
}

int judge_flush(void* stream) { return timer.flush(static_cast<cudaStream_t>(stream)); }

int judge_mark(int call, int side, void* stream) { return timer.mark(call, side, static_cast<cudaStream_t>(stream)); }

// Lets the stream go, waits for it, and writes one time a call. *expired: the hold gave up first.
int judge_end(int count, int64_t* ns, int* expired, void* stream) {
  timer.release();
  cudaError_t e = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  *expired = timer.has_expired();
  for (int call = 0; call < count && e == cudaSuccess; ++call) e = timer.elapsed(call, &ns[call]);
  return e;
}

int judge_release() {
  timer.release();
  return 0;
}

const char* judge_error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
}
