// One fiber per CUDA thread; blocks run one after another. A thread keeps the processor until it waits for others, so
// everything between two waits is free of surprises and one seed gives one schedule.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rt.h"

#include <cuda_runtime.h>
#include <type_traits>

// The same storage that a kernel sees as `extern const`: it is swapped at every switch.
extern "C" {
uint3 threadIdx __attribute__((aligned(16)));
uint3 blockIdx __attribute__((aligned(16)));
dim3 blockDim __attribute__((aligned(16)));
dim3 gridDim __attribute__((aligned(16)));
int warpSize = 32;
}

namespace emu {

// Host mode until the first launch: constructors of the kernel file run before main.
Hot hot = {kGlobalBase + kGlobalSpan, ~uintptr_t(0) - kGlobalSpan, false, nullptr, nullptr, 0, 0, 0};
Run run;
Order order = Order::forward;

static uint64_t rng_state = 1;
void seed_rng(uint64_t seed) { rng_state = seed * 0x9E3779B97F4A7C15ull + 0x1234567; }
uint32_t rng() {
  rng_state ^= rng_state << 13;
  rng_state ^= rng_state >> 7;
  rng_state ^= rng_state << 17;
  return static_cast<uint32_t>(rng_state >> 16);
}

#if !defined(__x86_64__)
#error "the emulator's context switch is written for x86-64"
#endif
extern "C" void emu_switch(void** save, void* load);
asm(R"(
.text
.globl emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
.section .note.GNU-stack,"",@progbits
.text
)");

static void* main_sp;
static void (*block_thunk)(void*);
static void* block_closure;
static uint32_t runnable_warps;
static char* stacks;

static uint32_t pick(uint32_t mask) {
  if (order == Order::forward) return __builtin_ctz(mask);
  if (order == Order::reverse) return 31 - __builtin_clz(mask);
  uint32_t turn = rng() & 31;
  uint32_t rotated = (mask >> turn) | (turn ? mask << (32 - turn) : 0);
  return (__builtin_ctz(rotated) + turn) & 31;
}

void refresh_stamp() {
  Fiber& f = *hot.fiber;
  Warp& w = *hot.warp;
  uint64_t clock = w.clock & 0x3fffff;
  hot.shared_stamp = (uint64_t(w.epoch & 0x3ffff) << 44) | (clock << 22) | (uint64_t(f.tid) << 12);
  // 1 valid, 1 atomic, 6 launch, 24 block, 10 thread, 22 clock
  hot.global_stamp = (1ull << 63) | (uint64_t(run.launch_id & 63) << 56) | ((run.block_linear & 0xffffff) << 32) |
                     (uint64_t(f.tid) << 22) | clock;
}

static void become(Fiber* f) {
  hot.fiber = f;
  hot.warp = &run.warps[f->warp];
  hot.stack_lo = f->stack_lo;
  threadIdx = {f->x, f->y, f->z};
  refresh_stamp();
}

static void deadlock();

// The lanes that wait together at one activemask are the ones that hardware would find converged there.
static void name_converged(Warp& w) {
  Fiber* lanes = &run.fibers[(&w - run.warps) * 32];
  for (uint32_t m = w.soft; m; m &= m - 1) {
    Fiber& f = lanes[__builtin_ctz(m)];
    f.coll_mask = 0;
    for (uint32_t o = w.soft; o; o &= o - 1)
      if (lanes[__builtin_ctz(o)].pc == f.pc) f.coll_mask |= o & -o;
  }
}

// The next fiber to run, or null when the block is done. Prefers the current warp, so that collectives stay hot.
static Fiber* next_fiber() {
  for (;;) {
    Warp* w = hot.warp;
    if (order == Order::random && runnable_warps && (rng() & 3) == 0) w = &run.warps[pick(runnable_warps)];
    if (!w->runnable && w->soft) {  // every lane of the warp waits: lanes at volatile accesses go on in lockstep
      name_converged(*w);
      w->runnable = w->soft;
      w->soft = 0;
      runnable_warps |= 1u << (w - run.warps);
    }
    if (!w->runnable && runnable_warps) w = &run.warps[pick(runnable_warps)];
    if (w->runnable) return &run.fibers[(w - run.warps) * 32 + pick(w->runnable)];
    bool soft = false, live = false;
    for (int i = 0; i < run.n_warps; ++i) {
      live |= run.warps[i].live != 0;
      if (run.warps[i].soft) hot.warp = &run.warps[i], soft = true;
    }
    if (soft) continue;
    if (!live) return nullptr;
    deadlock();
  }
}

static void set_runnable(Fiber& f) {
  f.wait = Wait::none;
  run.warps[f.warp].runnable |= 1u << f.lane;
  runnable_warps |= 1u << f.warp;
}

static void set_blocked(Fiber& f, Wait why) {
  f.wait = why;
  Warp& w = run.warps[f.warp];
  w.runnable &= ~(1u << f.lane);
  if (!w.runnable) runnable_warps &= ~(1u << f.warp);
}

static void switch_away() {
  settle_write();
  Fiber* from = hot.fiber;
  Fiber* to = next_fiber();
  if (to == from) return;
  if (!to) {
    emu_switch(&from->sp, main_sp);
    return;
  }
  become(to);
  emu_switch(&from->sp, to->sp);
}

// ---- barriers --------------------------------------------------------------------------------------------------
struct Barrier {
  int expected, arrived;
  uint32_t arrived_mask[kMaxWarps], wait_mask[kMaxWarps];
  const char* file;
  int line, tid;
  uintptr_t pc;
};
static Barrier barriers[16];
static int live_threads;
static int exited_threads;
static uintptr_t exit_noted_pc;

// Everything that participants did before is ordered before everything that waiters do after.
static void join_clocks(Barrier& b) {
  uint32_t joined[kMaxWarps] = {};
  for (int i = 0; i < run.n_warps; ++i) {
    if (!b.arrived_mask[i]) continue;
    Warp& w = run.warps[i];
    w.vc[i] = w.clock;
    for (int k = 0; k < run.n_warps; ++k)
      if (w.vc[k] > joined[k]) joined[k] = w.vc[k];
  }
  for (int i = 0; i < run.n_warps; ++i) {
    if (!b.arrived_mask[i]) continue;
    Warp& w = run.warps[i];
    if (b.wait_mask[i])
      for (int k = 0; k < run.n_warps; ++k) w.vc[k] = joined[k];
    w.clock++;
    w.epoch++;
  }
}

static void release(Barrier& b) {
  join_clocks(b);
  for (int i = 0; i < run.n_warps; ++i)
    for (uint32_t m = b.wait_mask[i]; m; m &= m - 1) set_runnable(run.fibers[i * 32 + __builtin_ctz(m)]);
  memset(&b, 0, sizeof b);
}

static bool complete(const Barrier& b) {
  int need = b.expected ? b.expected : live_threads;
  return b.arrived > 0 && b.arrived >= need;
}

static void check_divergence(const Barrier& b, int id, uintptr_t pc, const char* file, int line) {
  if (!b.arrived || !b.file || !file || (b.line == line && !strcmp(b.file, file))) return;
  Fiber& f = *hot.fiber;
  bool same_warp = b.arrived_mask[f.warp] != 0;
  report("barrier-divergence", same_warp ? Severity::veto : Severity::finding, pc, b.pc, "", -1,
         "barrier %d: this thread waits here, thread %d waits at line %d%s", id, b.tid, b.line,
         same_warp ? " (same warp)" : " (another warp)");
}

static void warn_exited(uintptr_t pc, int id) {
  if (id != 0 || exited_threads == 0 || exit_noted_pc == pc) return;
  exit_noted_pc = pc;
  report("barrier-exited", Severity::finding, pc, 0, "", -1,
         "%d threads of the block had returned before this barrier", exited_threads);
}

void barrier(int id, int expected, bool wait, uintptr_t pc, const char* file, int line) {
  if (!hot.in_kernel) return;
  if (id < 0 || id > 15) unsupported(pc, "barrier id %d", id);
  Fiber& f = *hot.fiber;
  Barrier& b = barriers[id];
  check_divergence(b, id, pc, file, line);
  warn_exited(pc, expected ? -1 : id);
  if (expected && expected % 32)
    report("barrier-count", Severity::veto, pc, 0, "", -1, "barrier %d with %d threads: not a multiple of 32", id, expected);
  if (!b.arrived) b.file = file, b.line = line, b.pc = pc, b.tid = f.tid, b.expected = expected;
  b.arrived++;
  b.arrived_mask[f.warp] |= 1u << f.lane;
  if (wait) b.wait_mask[f.warp] |= 1u << f.lane;
  f.barrier_id = id, f.pc = pc, f.file = file, f.line = line;
  if (wait) set_blocked(f, Wait::barrier);
  if (complete(b)) {
    release(b);
    refresh_stamp();
  }
  // Going on at once after the last arrival is one legal order among many; random order tries the others.
  if (wait && (f.wait == Wait::barrier || order == Order::random)) switch_away();
  refresh_stamp();
}

// ---- collectives of one warp -----------------------------------------------------------------------------------
static uint32_t waiting_group(const Warp& w, const Fiber* lanes, int kind, uint32_t mask) {
  uint32_t group = 0;
  for (uint32_t m = mask & w.live & ~w.runnable; m; m &= m - 1) {
    const Fiber& o = lanes[__builtin_ctz(m)];
    if (o.wait == Wait::collective && o.coll_kind == kind && (o.coll_mask & w.live) == mask) group |= 1u << o.lane;
  }
  return group;
}

static uint32_t usable_mask(uint32_t mask, uintptr_t pc, const char* what) {
  Fiber& f = *hot.fiber;
  Warp& w = *hot.warp;
  if (!(mask >> f.lane & 1)) {
    report("mask-without-caller", Severity::veto, pc, 0, "", -1, "%s: mask 0x%08x does not name lane %d", what, mask, f.lane);
    mask |= 1u << f.lane;
  }
  mask &= w.exists;  // a last warp of fewer lanes: names of absent lanes do no harm
  if (mask & ~w.live)
    report("warp-exited", Severity::finding, pc, 0, "", -1, "%s: mask 0x%08x names lanes 0x%08x, which have returned", what,
           mask, mask & ~w.live);
  return mask & w.live;
}

void collective(int kind, uint32_t mask, void* payload, GroupFn fn, uintptr_t pc, const char* what) {
  Fiber& f = *hot.fiber;
  Warp& w = *hot.warp;
  uint32_t me = 1u << f.lane;
  if (mask != w.live || !(mask & me)) mask = usable_mask(mask, pc, what);
  f.coll_kind = kind, f.coll_mask = mask, f.payload = payload, f.group_fn = fn, f.pc = pc, f.file = what;
  Fiber* lanes = &run.fibers[f.warp * 32];
  bool others_run = mask & w.runnable & ~me;
  if (!others_run && (me | waiting_group(w, lanes, kind, mask)) == mask) {
    fn(w, mask, lanes);
    for (uint32_t m = mask & ~me; m; m &= m - 1) set_runnable(lanes[__builtin_ctz(m)]);
    if (order == Order::random) switch_away();
  } else {
    set_blocked(f, Wait::collective);
    switch_away();
  }
  refresh_stamp();
}

// A lane returned: groups that waited for it go on without it, as on sm_70 and later.
static void complete_without(Warp& w) {
  Fiber* lanes = &run.fibers[(&w - run.warps) * 32];
  for (uint32_t m = w.live & ~w.runnable; m; m &= m - 1) {
    Fiber& o = lanes[__builtin_ctz(m)];
    if (o.wait != Wait::collective || !(o.coll_mask & ~w.live)) continue;
    uint32_t mask = o.coll_mask & w.live;
    if (waiting_group(w, lanes, o.coll_kind, mask) != mask) continue;
    Fiber* gone = hot.fiber;
    hot.fiber = &o;
    report("warp-exited", Severity::finding, o.pc, 0, "", -1, "%s: mask 0x%08x names lanes that returned meanwhile", o.file,
           o.coll_mask);
    o.group_fn(w, mask, lanes);
    hot.fiber = gone;
    for (uint32_t g = mask; g; g &= g - 1) set_runnable(lanes[__builtin_ctz(g)]);
  }
}

uint32_t soft_sync(uintptr_t pc) {
  Fiber& f = *hot.fiber;
  f.pc = pc;
  hot.warp->soft |= 1u << f.lane;
  set_blocked(f, Wait::soft);
  switch_away();
  f.wait = Wait::none;
  return f.coll_mask;
}

void count_spin(uintptr_t addr, uintptr_t pc) {
  Fiber& f = *hot.fiber;
  if (f.spin_addr != addr) f.spin_addr = addr, f.spin_count = 0;
  if (++f.spin_count > 2000000) unsupported(pc, "spin on memory (threads are not preempted here)");
}

// ---- deadlock --------------------------------------------------------------------------------------------------
static void deadlock() {
  char text[400];
  int n = 0, shown = 0;
  Fiber* first = nullptr;
  for (int i = 0; i < run.n_threads && shown < 4; ++i) {
    Fiber& f = run.fibers[i];
    if (f.wait != Wait::collective && f.wait != Wait::barrier) continue;
    if (i && first) {
      Fiber& p = run.fibers[i - 1];
      if (p.wait == f.wait && p.pc == f.pc && p.coll_mask == f.coll_mask) continue;
    }
    if (!first) first = &f;
    ++shown;
    if (f.wait == Wait::barrier)
      n += snprintf(text + n, sizeof text - n, "%sthread %d.. at barrier %d", shown > 1 ? "; " : "", f.tid, f.barrier_id);
    else
      n += snprintf(text + n, sizeof text - n, "%sthread %d.. at %s of mask 0x%08x", shown > 1 ? "; " : "", f.tid, f.file,
                    f.coll_mask);
    if (f.wait == Wait::barrier && f.line) n += snprintf(text + n, sizeof text - n, " (line %d)", f.line);
    if (n > 300) break;
  }
  if (first) hot.fiber = first, hot.warp = &run.warps[first->warp];
  report("deadlock", Severity::veto, first ? first->pc : 0, 0, "", -1, "no thread of the block can go on: %s", text);
  stop("stopped", "deadlock");
}

// ---- blocks and grids ------------------------------------------------------------------------------------------
static void fiber_main() {
  block_thunk(block_closure);
  settle_write();
  Fiber& f = *hot.fiber;
  cp_async_wait(-1);
  set_blocked(f, Wait::exited);
  hot.warp->live &= ~(1u << f.lane);
  if (hot.warp->live & ~hot.warp->runnable) complete_without(*hot.warp);
  live_threads--;
  exited_threads++;
  for (Barrier& b : barriers)
    if (b.arrived && !b.expected && complete(b)) {
      report("barrier-exited", Severity::finding, b.pc, 0, "", -1, "thread %d returned while others wait at this barrier", f.tid);
      release(b);
    }
  switch_away();
  abort();  // a finished fiber is never resumed
}

static void prepare_stacks() {
  if (stacks) return;
  size_t each = kStackBytes + 4096;
  void* p = mmap(nullptr, each * kMaxThreads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) stop("infrastructure", "no memory for stacks");
  stacks = static_cast<char*>(p);
  for (int i = 0; i < kMaxThreads; ++i) mprotect(stacks + i * each, 4096, PROT_NONE);
}

static void prepare_fiber(Fiber& f, int i) {
  CpAsync* pending = f.pending;
  uint32_t cap = f.cap_pending;
  memset(&f, 0, sizeof f);
  f.pending = pending, f.cap_pending = cap;
  f.tid = i, f.lane = i & 31, f.warp = i >> 5;
  f.x = i % blockDim.x, f.y = i / blockDim.x % blockDim.y, f.z = i / (blockDim.x * blockDim.y);
  f.stack_lo = reinterpret_cast<uintptr_t>(stacks) + i * (kStackBytes + 4096) + 4096;
  auto** top = reinterpret_cast<void**>(f.stack_lo + kStackBytes - 64);
  *--top = nullptr;  // keeps the stack aligned as after a call
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int k = 0; k < 6; ++k) *--top = nullptr;
  f.sp = top;
}

static void run_block() {
  memset(barriers, 0, sizeof barriers);
  live_threads = run.n_threads, exited_threads = 0, exit_noted_pc = 0;
  runnable_warps = run.n_warps == 32 ? ~0u : (1u << run.n_warps) - 1;
  for (int i = 0; i < run.n_warps; ++i) {
    Warp& w = run.warps[i];
    int lanes = run.n_threads - i * 32 < 32 ? run.n_threads - i * 32 : 32;
    memset(&w, 0, sizeof w);
    w.exists = w.live = w.runnable = lanes == 32 ? ~0u : (1u << lanes) - 1;
    w.clock = 1;
  }
  for (int i = 0; i < run.n_threads; ++i) prepare_fiber(run.fibers[i], i);
  shared_block_start();
  run.blocks++;
  hot.warp = &run.warps[pick(runnable_warps)];
  Fiber* first = &run.fibers[(hot.warp - run.warps) * 32 + pick(hot.warp->runnable)];
  become(first);
  emu_switch(&main_sp, first->sp);
}

static uint64_t block_at(uint64_t i, uint64_t n, uint64_t step) {
  if (order == Order::forward) return i;
  if (order == Order::reverse) return n - 1 - i;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step + step / 2) % n);
}

static uint64_t gcd(uint64_t a, uint64_t b) { return b ? gcd(b, a % b) : a; }

void run_all_blocks(const char* name, dim3 grid, dim3 block, size_t dynamic, void (*thunk)(void*), void* closure) {
  prepare_stacks();
  blockDim = block, gridDim = grid;
  run.n_threads = block.x * block.y * block.z;
  run.n_warps = (run.n_threads + 31) / 32;
  run.kernel = name, run.dynamic_bytes = dynamic, run.fenced = false;
  run.launch_id++, run.launches++;
  block_thunk = thunk, block_closure = closure;
  uint64_t n = uint64_t(grid.x) * grid.y * grid.z;
  uint64_t step = n > 2 ? rng() % n : 1;
  while (gcd(step, n) != 1) step = step + 1;
  enter_kernel_checks();
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t b = block_at(i, n, step);
    run.block_linear = b;
    blockIdx = {uint32_t(b % grid.x), uint32_t(b / grid.x % grid.y), uint32_t(b / (uint64_t(grid.x) * grid.y))};
    run_block();
  }
  leave_kernel_checks();
  shared_launch_end();
}

}  // namespace emu
