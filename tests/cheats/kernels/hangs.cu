// Waits for a flag that nobody sets.
namespace waiting {

__global__ void kernel(const float* X, float* Y, volatile int* flag) {
  while (*flag != 12345) __nanosleep(1000);
  Y[0] = X[0];
}

}  // namespace waiting

extern "C" size_t workspace_bytes(const Args&) { return sizeof(int); }

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  waiting::kernel<<<1, 32, 0, stream>>>(a.X, a.Y, static_cast<int*>(a.workspace));
  return cudaGetLastError();
}
