// The pipeline primitives over cp.async.
#pragma once

EMU_INLINE void __pipeline_memcpy_async(void* dst, const void* src, size_t bytes, size_t zfill = 0) {
  ::emu::cp_async(dst, src, static_cast<unsigned>(bytes), static_cast<unsigned>(bytes - zfill));
}
EMU_INLINE void __pipeline_commit() { ::emu::cp_async_commit(); }
EMU_INLINE void __pipeline_wait_prior(size_t keep) { ::emu::cp_async_wait_prior(static_cast<int>(keep)); }
