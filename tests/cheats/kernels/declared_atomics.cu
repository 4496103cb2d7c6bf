// Honest: split K with atomics, for a task that says that two runs may differ in rounding.
#include "atomics.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) { return atomics::run(a, stream); }
