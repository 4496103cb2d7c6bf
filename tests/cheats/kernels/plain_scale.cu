// Honest: one thread an element.
#include "scale.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return scale::run(a, stream); }
