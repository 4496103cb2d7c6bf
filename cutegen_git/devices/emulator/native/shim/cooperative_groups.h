// The part of cooperative groups that kernels for one block use: block, warp tiles, coalesced groups, reductions.
// Grid and cluster groups are not here: the rewriter answers them with "unsupported".
#pragma once

namespace cooperative_groups {

namespace detail {
EMU_INLINE unsigned block_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
EMU_INLINE unsigned lane() { return ::emu::lane_id(); }
}  // namespace detail

class thread_block {
 public:
  static void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { ::emu::sync_block(file, line); }
  static unsigned thread_rank() { return detail::block_rank(); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
EMU_INLINE thread_block this_thread_block() { return {}; }

template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
 public:
  static unsigned mask() {
    return Size == 32 ? 0xffffffffu : ((1ull << (Size % 32)) - 1) << (detail::lane() / Size * Size);
  }
  static void sync() { __syncwarp(mask()); }
  static unsigned thread_rank() { return detail::block_rank() % Size; }
  static unsigned meta_group_rank() { return detail::block_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  template <class T>
  T shfl(T v, int rank) const { return __shfl_sync(mask(), v, rank, Size); }
  template <class T>
  T shfl_up(T v, unsigned delta) const { return __shfl_up_sync(mask(), v, delta, Size); }
  template <class T>
  T shfl_down(T v, unsigned delta) const { return __shfl_down_sync(mask(), v, delta, Size); }
  template <class T>
  T shfl_xor(T v, unsigned lanes) const { return __shfl_xor_sync(mask(), v, static_cast<int>(lanes), Size); }
  int any(int p) const { return __any_sync(mask(), p); }
  int all(int p) const { return __all_sync(mask(), p); }
  unsigned ballot(int p) const { return __ballot_sync(mask(), p) >> (detail::lane() / Size * Size); }
  template <class T>
  unsigned match_any(T v) const { return __match_any_sync(mask(), v) >> (detail::lane() / Size * Size); }
};

template <unsigned Size, class Parent>
EMU_INLINE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  static_assert(Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile of more than one warp is not emulated");
  return {};
}

class coalesced_group {
 public:
  explicit coalesced_group(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << detail::lane()) - 1))); }
  template <class T>
  T shfl(T v, unsigned rank) const { return __shfl_sync(mask_, v, nth(rank)); }
  int any(int p) const { return __any_sync(mask_, p); }
  int all(int p) const { return __all_sync(mask_, p); }

 private:
  int nth(unsigned rank) const {
    for (int i = 0; i < 32; ++i)
      if ((mask_ >> i & 1) && rank-- == 0) return i;
    return 0;
  }
  unsigned mask_;
};

EMU_INLINE coalesced_group coalesced_threads() { return coalesced_group(::emu::active_mask()); }

EMU_INLINE void sync(const thread_block&, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { ::emu::sync_block(file, line); }
template <class Group>
EMU_INLINE void sync(const Group& g) { g.sync(); }

template <class T>
struct plus {
  EMU_INLINE T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  EMU_INLINE T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  EMU_INLINE T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  EMU_INLINE T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  EMU_INLINE T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  EMU_INLINE T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned Size, class Parent, class T, class Op>
EMU_INLINE T reduce(const thread_block_tile<Size, Parent>& tile, T v, Op op) {
  for (unsigned step = Size / 2; step > 0; step /= 2) v = op(v, tile.shfl_xor(v, step));
  return v;
}
template <unsigned Size, class Parent, class T, class Op>
EMU_INLINE T inclusive_scan(const thread_block_tile<Size, Parent>& tile, T v, Op op) {
  for (unsigned step = 1; step < Size; step *= 2) {
    T before = tile.shfl_up(v, step);
    if (tile.thread_rank() >= step) v = op(before, v);
  }
  return v;
}
template <unsigned Size, class Parent, class T>
EMU_INLINE T inclusive_scan(const thread_block_tile<Size, Parent>& tile, T v) { return inclusive_scan(tile, v, plus<T>{}); }
template <unsigned Size, class Parent, class T>
EMU_INLINE T exclusive_scan(const thread_block_tile<Size, Parent>& tile, T v) {
  T sum = inclusive_scan(tile, v, plus<T>{});
  T before = tile.shfl_up(sum, 1);
  return tile.thread_rank() == 0 ? T(0) : before;
}

template <class Group, class T>
EMU_INLINE void memcpy_async(const Group& g, T* dst, const T* src, size_t bytes) {
  for (size_t i = g.thread_rank(); i < bytes / sizeof(T); i += g.size()) dst[i] = src[i];
}
template <class Group>
EMU_INLINE void wait(const Group& g) { g.sync(); }

}  // namespace cooperative_groups
