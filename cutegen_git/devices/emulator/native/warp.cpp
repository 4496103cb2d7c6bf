// Shuffles, votes, reductions, atomics and barriers: the calls of intrinsics.h, run by the last lane that arrives.
#include <chrono>
#include <cstring>

#include "rt.h"
#include "warp.h"

#define RET reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace emu {

namespace {
struct Shuffle {
  uint64_t in, out;
  int mode, lane, width;
  bool bad, valid;
};

int shuffle_source(const Shuffle& s, int lane) {
  int first = lane & ~(s.width - 1), last = first + s.width - 1, from = lane;
  if (s.mode == 0) from = first | (s.lane & (s.width - 1));
  if (s.mode == 1) from = lane - s.lane;
  if (s.mode == 2) from = lane + s.lane;
  if (s.mode == 3) from = lane ^ s.lane;
  bool out = s.mode == 1 ? from < first : from > last;
  return out ? -1 : from;
}

// A lane that takes no part gives no value: NaN, so that its use shows. It is worth a word only if it exists.
void do_shuffle(Warp& w, uint32_t mask, Fiber* lanes) {
  for (uint32_t m = mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    auto& s = *static_cast<Shuffle*>(lanes[lane].payload);
    int from = shuffle_source(s, lane);
    s.valid = from >= 0;
    if (from < 0) from = lane;
    bool absent = !(mask >> from & 1);
    s.bad = absent && (w.exists >> from & 1);
    s.out = absent ? ~0ull : static_cast<Shuffle*>(lanes[from].payload)->in;
  }
}

struct Vote {
  uint64_t in;
  int kind;
  uint64_t out;
};

bool all_equal(uint32_t mask, Fiber* lanes) {
  uint64_t first = static_cast<Vote*>(lanes[__builtin_ctz(mask)].payload)->in;
  for (uint32_t m = mask; m; m &= m - 1)
    if (static_cast<Vote*>(lanes[__builtin_ctz(m)].payload)->in != first) return false;
  return true;
}

uint32_t equal_to(uint64_t value, uint32_t mask, Fiber* lanes) {
  uint32_t bits = 0;
  for (uint32_t m = mask; m; m &= m - 1)
    if (static_cast<Vote*>(lanes[__builtin_ctz(m)].payload)->in == value) bits |= m & -m;
  return bits;
}

void do_vote(Warp&, uint32_t mask, Fiber* lanes) {
  for (uint32_t m = mask; m; m &= m - 1) {
    auto& v = *static_cast<Vote*>(lanes[__builtin_ctz(m)].payload);
    switch (v.kind) {
      case 0: v.out = equal_to(1, mask, lanes); break;
      case 1: v.out = equal_to(1, mask, lanes) == mask; break;
      case 2: v.out = all_equal(mask, lanes); break;
      case 3: v.out = equal_to(v.in, mask, lanes); break;
      default: v.out = all_equal(mask, lanes) ? mask : 0;
    }
  }
}

uint64_t fold(int op, uint64_t a, uint64_t b) {
  auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  switch (op) {
    case 0: return x + y;
    case 1: return x < y ? x : y;
    case 2: return static_cast<uint32_t>(sx < sy ? sx : sy);
    case 3: return x > y ? x : y;
    case 4: return static_cast<uint32_t>(sx > sy ? sx : sy);
    case 5: return x & y;
    case 6: return x | y;
    default: return x ^ y;
  }
}

void do_reduce(Warp&, uint32_t mask, Fiber* lanes) {
  bool first = true;
  uint64_t sum = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    auto& v = *static_cast<Vote*>(lanes[__builtin_ctz(m)].payload);
    sum = first ? v.in : fold(v.kind, sum, v.in);
    first = false;
  }
  for (uint32_t m = mask; m; m &= m - 1) static_cast<Vote*>(lanes[__builtin_ctz(m)].payload)->out = sum;
}

void do_nothing(Warp& w, uint32_t, Fiber*) { w.epoch++; }

void need_kernel(uintptr_t pc) {
  if (!hot.in_kernel) unsupported(pc, "a device function called on the host");
}
}  // namespace

bool shuffle_at(unsigned mask, int mode, int lane, int width, uint64_t* value, uintptr_t pc) {
  need_kernel(pc);
  Shuffle s{*value, 0, mode, lane, width, false, false};
  collective(kShuffle, mask, &s, do_shuffle, pc, "a shuffle");
  if (s.bad) report("shuffle-source", Severity::finding, pc, 0, "", -1, "the lane that is read from does not take part");
  *value = s.out;
  return s.valid;
}

uint64_t vote_at(unsigned mask, int kind, uint64_t value, uintptr_t pc) {
  need_kernel(pc);
  Vote v{value, kind, 0};
  collective(kVote + kind, mask, &v, do_vote, pc, "a vote");
  return v.out;
}

uint64_t reduce_at(unsigned mask, int op, uint64_t value, uintptr_t pc) {
  need_kernel(pc);
  Vote v{value, op, 0};
  collective(kReduce + op, mask, &v, do_reduce, pc, "a warp reduction");
  return v.out;
}

void sync_warp_at(unsigned mask, uintptr_t pc) {
  need_kernel(pc);
  collective(kSyncWarp, mask, nullptr, do_nothing, pc, "__syncwarp");
}

void shuffle(unsigned mask, int mode, int lane, int width, uint64_t* value) { shuffle_at(mask, mode, lane, width, value, RET); }
unsigned vote(unsigned mask, int kind, uint64_t value) { return static_cast<unsigned>(vote_at(mask, kind, value, RET)); }
uint64_t warp_reduce(unsigned mask, int op, uint64_t value) { return reduce_at(mask, op, value, RET); }
void sync_warp(unsigned mask) { sync_warp_at(mask, RET); }

void sync_block(const char* file, int line) {
  need_kernel(RET);
  barrier(0, 0, true, RET, file, line);
}

static uint64_t votes_round;
int sync_block_reduce(int kind, int value, const char* file, int line) {
  need_kernel(RET);
  static int count, yes, result;
  uint64_t round = (uint64_t(run.launch_id) << 40) ^ (run.block_linear << 8);
  if (votes_round != round) votes_round = round, count = yes = 0;
  count++, yes += value != 0;
  result = kind == 0 ? yes : kind == 1 ? yes == count : yes != 0;
  barrier(0, 0, true, RET, file, line);
  int mine = result;
  barrier(0, 0, true, RET, file, line);
  count = yes = 0;
  return mine;
}

unsigned active_mask() {
  need_kernel(RET);
  unsigned mask = soft_sync(RET);
  refresh_stamp();
  return mask;
}

void fence() { run.fenced = true; }
long long clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
unsigned lane_id() { return hot.fiber ? static_cast<unsigned>(hot.fiber->lane) : 0; }

uint32_t to_shared(const void* p) {
  uintptr_t rel = reinterpret_cast<uintptr_t>(p) - kArenaBase;
  if (rel < kArenaBytes) return static_cast<uint32_t>(rel);
  report("not-shared", Severity::veto, RET, 0, "", -1, "an address that is not in shared memory is used as one");
  return 0xfff00000u;
}

void atomic_begin(const void* p, unsigned bytes, unsigned align, const void* caller) {
  uintptr_t pc = reinterpret_cast<uintptr_t>(caller), addr = reinterpret_cast<uintptr_t>(p);
  if (!hot.in_kernel) return;
  check_align(addr, bytes > align ? bytes : align, "atomic", pc);
  count_spin(addr, pc);
  if (addr - kArenaBase >= kArenaBytes) run.fenced = true;
  access(addr, bytes, true, pc, true);
}
void atomic_end() {}

void cp_async(void* dst, const void* src, unsigned bytes, unsigned copied) {
  need_kernel(RET);
  uint32_t handle = to_shared(dst);
  cp_async_issue(handle, reinterpret_cast<uintptr_t>(src), bytes, copied, RET);
}
void cp_async_commit() { hot.fiber->committed++; }
void cp_async_wait_prior(int keep) { cp_async_wait(keep); }

}  // namespace emu
