// A CUDA runtime without a GPU, for tests of the candidate's process: device memory is host memory, "IPC" memory is
// a file in /dev/shm, kernels do nothing but the runner's probe. Built as libcudart.so.13.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

struct dim3 {
  unsigned x, y, z;
};

struct Handle {
  char path[64];
};

static std::map<const void*, std::string> kernels;  // by host function

extern "C" {
void** __cudaRegisterFatBinary(void*) { return static_cast<void**>(std::malloc(8)); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
  kernels[host] = name;
}
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void*) { return 0; }
int __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) { return 0; }
int __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = host;
  return 0;
}
int __cudaLaunchKernel(const void* kernel, dim3, dim3, void** arguments, size_t, void*) {
  if (kernels[kernel].find("probe_kernel") != std::string::npos) {
    unsigned* value = *static_cast<unsigned**>(arguments[0]);
    *value = *value * 3 + 1;
  }
  return 0;
}
int cudaMalloc(void** pointer, size_t size) { return (*pointer = std::malloc(size)) ? 0 : 2; }
int cudaFree(void* pointer) { return std::free(pointer), 0; }
int cudaMemset(void* pointer, int value, size_t size) { return std::memset(pointer, value, size), 0; }
int cudaMemcpy(void* to, const void* from, size_t size, int) { return std::memcpy(to, from, size), 0; }
int cudaHostAlloc(void** pointer, size_t size, unsigned) { return cudaMalloc(pointer, size); }
int cudaIpcOpenMemHandle(void** pointer, Handle handle, unsigned) {
  int fd = open(handle.path, O_RDWR);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return 1;
  *pointer = mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return *pointer == MAP_FAILED;
}
int cudaStreamCreateWithFlags(void** stream, unsigned) { return cudaMalloc(stream, 8); }
int cudaStreamSynchronize(void*) { return 0; }
int cudaEventCreate(void** event) { return cudaMalloc(event, 8); }
int cudaEventRecord(void*, void*) { return 0; }
int cudaEventElapsedTime(float* ms, void*, void*) { return *ms = 1.f, 0; }
int cudaCtxResetPersistingL2Cache() { return 0; }
int cudaGetLastError() { return 0; }
int cudaPeekAtLastError() { return 0; }
const char* cudaGetErrorName(int error) { return error == 700 ? "cudaErrorIllegalAddress" : "cudaErrorOther"; }
}
