// Other arithmetic than the task's, by a pragma.
#pragma GCC optimize("Ofast")
#include "scale.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return scale::run(a, stream); }
