// Collectives of one warp, shared by the intrinsics and by inline PTX.
#pragma once
#include <cstdint>

namespace emu {
enum : int { kShuffle = 1, kSyncWarp = 2, kLdmatrix = 3, kMovmatrix = 4, kMma = 5, kStmatrix = 6, kVote = 16, kReduce = 32 };
bool shuffle_at(unsigned mask, int mode, int lane, int width, uint64_t* value, uintptr_t pc);
uint64_t vote_at(unsigned mask, int kind, uint64_t value, uintptr_t pc);
uint64_t reduce_at(unsigned mask, int op, uint64_t value, uintptr_t pc);
void sync_warp_at(unsigned mask, uintptr_t pc);
uint32_t to_shared(const void* p);
void fence();
long long clock_now();
void atomic_begin(const void* p, unsigned bytes, unsigned align, const void* caller);
}  // namespace emu
