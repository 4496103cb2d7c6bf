// Every load and store of the kernel comes here. Compiled with -fsanitize=thread, the kernel calls __tsan_*; those
// names are ours, so one build checks bounds, initialisation, races and waits, and knows thread, block and buffer.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rt.h"

namespace emu {

namespace {
enum State : uint64_t { kRedzone = 0, kUninit = 1, kInit = 2, kPending = 3 };
constexpr int kPcBits = 12;
constexpr uint64_t kPcMask = (1u << kPcBits) - 1, kTimeMask = ((1ull << 62) - 1) & ~kPcMask;
constexpr uint64_t kManyLanes = 1ull << 62, kManyWarps = 1ull << 63;

// One granule of shared memory: who wrote it last and who read it since. Both words hold, from the top:
// 2 state or flags, 18 warp epoch, 22 warp clock, 10 thread, 12 place in the code.
struct Cell {
  uint64_t w, r;
};

Cell cells[kArenaBytes];  // room for granules of one byte; untouched pages cost nothing
int gran = 2;             // log2 of the granule: 4 bytes until something smaller is seen
uintptr_t pc_table[1u << kPcBits];

struct SlotInfo {
  uint32_t offset, bytes, launch;
  char name[64];
};
SlotInfo slots[256];
int n_slots;
uint32_t next_static = kStaticStart, active_static;

uint16_t granules[kGlobalSpan >> kGranuleShift];
Buffer buffers[1024];
int n_buffers;
uintptr_t next_granule = 1;

uint64_t pc_id(uintptr_t pc) {
  uint64_t h = (pc ^ (pc >> kPcBits)) & kPcMask;
  pc_table[h] = pc;
  return h;
}
uint32_t thread_of(uint64_t word) { return word >> kPcBits & 0x3ff; }
uint32_t clock_of(uint64_t word) { return word >> 22 & 0x3fffff; }
uint32_t epoch_of(uint64_t word) { return word >> 44 & 0x3ffff; }

// Was that access certain to happen before this thread's present one?
bool ordered(uint64_t old) {
  uint32_t other = thread_of(old), warp = other >> 5;
  const Fiber& me = *hot.fiber;
  if (warp != static_cast<uint32_t>(me.warp)) return hot.warp->vc[warp] >= clock_of(old);
  return other == static_cast<uint32_t>(me.tid) || ((old ^ hot.shared_stamp) & kTimeMask) >> 22 != 0;
}

const char* describe(uint32_t offset, int64_t* inside) {
  static char text[100];
  for (int i = 0; i < n_slots; ++i) {
    const SlotInfo& s = slots[i];
    if (s.launch != run.launch_id || offset + kSlotGap / 2 < s.offset || offset >= s.offset + s.bytes + kSlotGap / 2) continue;
    *inside = int64_t(offset) - s.offset;
    snprintf(text, sizeof text, "%.60s (shared, %u bytes)", s.name, s.bytes);
    return text;
  }
  *inside = int64_t(offset) - kDynamicStart;
  snprintf(text, sizeof text, "dynamic shared memory (%u bytes)", run.dynamic_bytes);
  return text;
}

void say_shared(const char* kind, Severity severity, uint32_t offset, uint32_t bytes, bool write, uintptr_t pc, uint64_t other) {
  int64_t inside;
  const char* name = describe(offset, &inside);
  const char* verb = write ? "write" : "read";
  uintptr_t pc2 = other ? pc_table[other & kPcMask] : 0;
  if (other)
    report(kind, severity, pc, pc2, name, inside, "%s of %u bytes against thread %u", verb, bytes, thread_of(other));
  else
    report(kind, severity, pc, pc2, name, inside, "%s of %u bytes", verb, bytes);
}

// A write of the value that is there already is no race that anybody could see. The value is known only after the store.
struct Unsettled {
  bool active, shared, checked;
  uint32_t bytes, offset;
  uintptr_t addr, pc;
  uint64_t other;
  Chain chain;
  unsigned char before[64];
} unsettled;

void refine(uint32_t bytes) {
  while ((1u << gran) > bytes) {
    for (int64_t i = (kArenaBytes >> gran) - 1; i >= 0; --i) {
      const Cell c = cells[i];
      cells[2 * i] = cells[2 * i + 1] = c;
    }
    --gran;
  }
}

__attribute__((noinline)) void bad_read(Cell& c, uint32_t offset, uint32_t bytes, uintptr_t pc) {
  uint64_t state = c.w >> 62;
  if (state == kRedzone) say_shared("oob-shared", Severity::veto, offset, bytes, false, pc, 0);
  if (state == kUninit) say_shared("uninit-shared", Severity::finding, offset, bytes, false, pc, 0);
  if (state == kPending) say_shared("pending-shared", Severity::finding, offset, bytes, false, pc, c.w);
}

__attribute__((noinline)) void slow_reader(Cell& c, uint64_t now) {
  uint64_t flags = 0, r = c.r;
  if (r && clock_of(r) == clock_of(now) && thread_of(r) >> 5 == thread_of(now) >> 5) {
    flags = r & kManyWarps;
    if (epoch_of(r) == epoch_of(now)) flags |= (r & kManyLanes) | (thread_of(r) != thread_of(now) ? kManyLanes : 0);
  } else if (r && !ordered(r)) {
    flags = kManyWarps | (thread_of(r) >> 5 == thread_of(now) >> 5 ? kManyLanes : 0);
  }
  c.r = now | flags;
}

bool read_conflict(uint64_t r) {
  if (!r) return false;
  if (!ordered(r)) return true;
  const uint64_t now = hot.shared_stamp;
  if (thread_of(r) >> 5 != thread_of(now) >> 5 || clock_of(r) != clock_of(now)) return false;
  return (r & kManyWarps) || ((r & kManyLanes) && epoch_of(r) == epoch_of(now));
}

void start_unsettled(bool shared, uintptr_t addr, uint32_t offset, uint32_t bytes, uintptr_t pc, uint64_t other) {
  settle_write();
  unsettled.active = true, unsettled.shared = shared, unsettled.addr = addr, unsettled.offset = offset, unsettled.pc = pc;
  unsettled.bytes = bytes < sizeof unsettled.before ? bytes : sizeof unsettled.before;
  unsettled.other = other, unsettled.chain = callers_of(pc);
  memcpy(unsettled.before, reinterpret_cast<void*>(addr), unsettled.bytes);
}

template <bool kWrite>
inline void shared_cell(Cell& c, uint32_t offset, uint32_t bytes, uintptr_t pc, uint64_t now) {
  uint64_t w = c.w;
  if (!kWrite) {
    if (w >> 62 != kInit) return bad_read(c, offset, bytes, pc);
    if (((w ^ now) & kTimeMask) != 0 && !ordered(w)) say_shared("race-shared", Severity::finding, offset, bytes, false, pc, w);
    if (((c.r ^ now) & ~kPcMask) != 0) slow_reader(c, now);
    return;
  }
  if (w >> 62 == kRedzone) return say_shared("oob-shared", Severity::veto, offset, bytes, true, pc, 0);
  if (w >> 62 == kPending) say_shared("pending-shared", Severity::finding, offset, bytes, true, pc, w);
  else if (w >> 62 == kInit && ((w ^ now) & kTimeMask) != 0 && !ordered(w))
    start_unsettled(true, kArenaBase + offset, offset, bytes, pc, w);
  else if (read_conflict(c.r)) start_unsettled(true, kArenaBase + offset, offset, bytes, pc, c.r);
  c.w = now | kInit << 62;
  c.r = 0;
}

template <bool kWrite>
inline void shared(uint32_t offset, uint32_t bytes, uintptr_t pc) {
  if (bytes < (1u << gran)) refine(bytes);
  uint64_t now = hot.shared_stamp | pc_id(pc);
  uint32_t last = (offset + bytes - 1) >> gran;
  if (last >= (kArenaBytes >> gran)) last = (kArenaBytes >> gran) - 1;
  for (uint32_t i = offset >> gran; i <= last; ++i) shared_cell<kWrite>(cells[i], i << gran, bytes, pc, now);
}

// ---- device memory ---------------------------------------------------------------------------------------------
const char* role_name(Role r) {
  switch (r) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::inout: return "in and out";
    case Role::workspace: return "workspace";
    default: return "packed";
  }
}

__attribute__((noinline)) void wild(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc) {
  report("oob-wild", Severity::veto, pc, 0, "", static_cast<int64_t>(addr), "%s of %u bytes at %s address 0x%llx, in no buffer of the call",
         write ? "write" : "read", bytes, addr < 65536 ? "null-like" : "stray", static_cast<unsigned long long>(addr));
  stop("stopped", "wild pointer");
}

__attribute__((noinline)) void outside(const Buffer& b, uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc) {
  int64_t offset = static_cast<int64_t>(addr - b.base);
  if (b.freed) report("use-after-free", Severity::veto, pc, 0, b.name, offset, "%s of %u bytes", write ? "write" : "read", bytes);
  else
    report("oob-global", Severity::veto, pc, 0, b.name, offset, "%s of %u bytes at byte %lld of %zu (%s)", write ? "write" : "read", bytes,
           static_cast<long long>(offset), b.bytes, role_name(b.role));
}

bool block_race(uint64_t old, uint64_t now) { return ((old ^ now) >> 32 & 0xffffff) != 0; }
bool same_launch(uint64_t old, uint64_t now) { return ((old ^ now) >> 56 & 63) == 0; }

// Within one block, ordered by barriers alone; lanes of one warp are left to the shared-memory check's finer rule.
bool unordered_in_block(uint64_t old, uint64_t now) {
  uint32_t other = old >> 22 & 0x3ff, me = now >> 22 & 0x3ff;
  return other >> 5 != me >> 5 && hot.warp->vc[other >> 5] < (old & 0x3fffff);
}

void say_global_race(const Buffer& b, uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc, uint64_t old) {
  report("race-global", Severity::finding, pc, 0, b.name, static_cast<int64_t>(addr - b.base), "%s of %u bytes against block %llu, thread %llu",
         write ? "write" : "read", bytes, static_cast<unsigned long long>(old >> 32 & 0xffffff),
         static_cast<unsigned long long>(old >> 22 & 0x3ff));
}

__attribute__((noinline)) void global_conflict(const Buffer& b, uintptr_t addr, uint32_t bytes, bool write, bool atomic, uintptr_t pc,
                                               uint64_t old, uint64_t now) {
  if (!same_launch(old, now)) return;
  bool old_atomic = old >> 62 & 1;
  if (atomic && old_atomic) return;
  bool race = block_race(old, now) ? (write || !run.fenced) : unordered_in_block(old, now);
  if (!race || (!write && run.fenced)) return;
  if (!write || atomic) return say_global_race(b, addr, bytes, write, pc, old);
  start_unsettled(false, addr, static_cast<uint32_t>(&b - buffers), bytes, pc, old);
}

template <bool kWrite>
inline void device(uintptr_t addr, uint32_t bytes, uintptr_t pc, bool atomic) {
  uintptr_t rel = addr - kGlobalBase;
  if (rel >= kGlobalSpan) return;
  uint16_t id = granules[rel >> kGranuleShift];
  if (!id) return wild(addr, bytes, kWrite, pc);
  Buffer& b = buffers[id];
  uintptr_t inside = addr - b.base;
  if (inside >= b.bytes || inside + bytes > b.bytes || b.freed) return outside(b, addr, bytes, kWrite, pc);
  if (!b.cells) {
    if (kWrite && b.role == Role::input)
      report("input-written", Severity::veto, pc, 0, b.name, static_cast<int64_t>(inside), "write of %u bytes into an input", bytes);
    return;
  }
  if (bytes < (1u << b.granule_shift)) {
    uint64_t& c = b.cells[inside >> b.granule_shift];
    if (kWrite && !c) c = hot.global_stamp & ~(0x3full << 56);
    return;
  }
  uint64_t now = hot.global_stamp | (atomic ? 1ull << 62 : 0);
  for (uintptr_t i = inside >> b.granule_shift, last = (inside + bytes - 1) >> b.granule_shift; i <= last; ++i) {
    uint64_t old = b.cells[i];
    if (!old && (!kWrite || atomic) && b.role != Role::inout && b.role != Role::packed)
      report("uninit-global", Severity::finding, pc, 0, b.name, static_cast<int64_t>(i << b.granule_shift), "read of %u bytes that nobody wrote (%s)",
             bytes, role_name(b.role));
    else if (old && old != now) global_conflict(b, addr, bytes, kWrite, atomic, pc, old, now);
    if (kWrite) b.cells[i] = now;
  }
}

uintptr_t data_lo, data_hi, main_lo, main_hi;

// Neither stack nor shared nor device memory: a variable of the program, the launch arguments, or a stray pointer.
__attribute__((noinline)) void elsewhere(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc) {
  if (addr - data_lo < data_hi - data_lo || addr - main_lo < main_hi - main_lo) return;
  wild(addr, bytes, write, pc);
}
}  // namespace

__attribute__((noinline)) static void settle_slow() {
  unsettled.active = false;
  if (!memcmp(unsettled.before, reinterpret_cast<void*>(unsettled.addr), unsettled.bytes)) return;
  report_from(&unsettled.chain);
  if (unsettled.shared) say_shared("race-shared", Severity::finding, unsettled.offset, unsettled.bytes, true, unsettled.pc, unsettled.other);
  else say_global_race(buffers[unsettled.offset], unsettled.addr, unsettled.bytes, true, unsettled.pc, unsettled.other);
  report_from(nullptr);
}
void settle_write() {
  if (unsettled.active) settle_slow();
}

__attribute__((noinline)) static void host_access(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc) {
  Buffer* b = find_buffer(addr);
  report("host-access", Severity::veto, pc, 0, b ? b->name : "", b ? static_cast<int64_t>(addr - b->base) : -1,
         "host code %s %u bytes of device memory", write ? "writes" : "reads", bytes);
  stop("stopped", "host access");
}

template <bool kWrite>
static inline void check(uintptr_t addr, uint32_t bytes, uintptr_t pc, bool atomic = false) {
  if (addr - hot.stack_lo < hot.stack_bytes) return;
  hot.accesses++;
  if (__builtin_expect(!hot.in_kernel, 0)) return host_access(addr, bytes, kWrite, pc);
  if (__builtin_expect(unsettled.active, 0)) settle_slow();
  if (addr - kArenaBase < kArenaBytes) return shared<kWrite>(static_cast<uint32_t>(addr - kArenaBase), bytes, pc);
  if (addr - kGlobalBase < kGlobalSpan) return device<kWrite>(addr, bytes, pc, atomic);
  elsewhere(addr, bytes, kWrite, pc);
}

void access(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc, bool atomic) {
  // Atomics on shared memory are ordered among themselves: they read and write in one step and never race with each other.
  if (atomic && addr - kArenaBase < kArenaBytes) return shared_access(static_cast<uint32_t>(addr - kArenaBase), bytes, true, pc);
  if (write) check<true>(addr, bytes, pc, atomic);
  else check<false>(addr, bytes, pc, atomic);
}

// An atomic: no race with other atomics (marked by thread 1023 never being unordered would lie, so a state of its own
// is kept in the reader word), but bounds and initialisation hold.
void shared_access(uint32_t offset, uint32_t bytes, bool, uintptr_t pc) {
  constexpr uint64_t kAtomic = kManyLanes | kManyWarps;
  hot.accesses++;
  if (bytes < (1u << gran)) refine(bytes);
  uint64_t now = hot.shared_stamp | pc_id(pc);
  for (uint32_t i = offset >> gran, last = (offset + bytes - 1) >> gran; i <= last && i < (kArenaBytes >> gran); ++i) {
    Cell& c = cells[i];
    if (c.w >> 62 != kInit) {
      if (c.w >> 62 == kRedzone) say_shared("oob-shared", Severity::veto, offset, bytes, true, pc, 0);
      else bad_read(c, offset, bytes, pc);
    } else {
      bool was_atomic = (c.r & kAtomic) == kAtomic && (c.r & kTimeMask) == (c.w & kTimeMask);
      if (!was_atomic && !ordered(c.w)) say_shared("race-shared", Severity::finding, offset, bytes, true, pc, c.w);
      else if (!was_atomic && read_conflict(c.r)) say_shared("race-shared", Severity::finding, offset, bytes, true, pc, c.r);
    }
    if (c.w >> 62 == kRedzone) continue;
    c.w = now | kInit << 62;
    c.r = (now & ~kPcMask) | kAtomic;
  }
}

// The hardware stops the grid at such an access, so nothing after it counts.
void check_align(uintptr_t addr, uint32_t align, const char* what, uintptr_t pc, bool fatal) {
  if (align < 2 || addr % align == 0) return;
  int64_t inside = -1;
  const char* name = "";
  if (addr - kArenaBase < kArenaBytes) name = describe(static_cast<uint32_t>(addr - kArenaBase), &inside);
  else if (Buffer* b = find_buffer(addr)) name = b->name, inside = static_cast<int64_t>(addr - b->base);
  report("misaligned", fatal ? Severity::veto : Severity::finding, pc, 0, name, inside, "%s of %u bytes at an address that is no multiple of %u",
         what, align, align);
  if (fatal) stop("stopped", "misaligned");
}

uintptr_t shared_pointer(uint32_t handle, uint32_t bytes, uintptr_t pc) {
  if (handle < kArenaBytes && handle + bytes <= kArenaBytes) return kArenaBase + handle;
  report("oob-shared", Severity::veto, pc, 0, "", handle, "0x%x is no address in shared memory", handle);
  stop("stopped", "shared address");
}

// ---- shared memory slots ---------------------------------------------------------------------------------------
static void fill_cells(uint32_t offset, uint32_t bytes, State state) {
  if (gran > 0 && ((offset | bytes) & ((1u << gran) - 1))) refine((bytes | offset) & 1 ? 1 : 2);
  for (uint32_t i = offset >> gran, n = (offset + bytes) >> gran; i < n; ++i) cells[i] = {state << 62, 0};
  if (state != kRedzone) memset(reinterpret_cast<void*>(kArenaBase + offset), 0xff, bytes);
}

static void map_arena() {
  static bool mapped;
  if (mapped) return;
  mapped = true;
  void* p = mmap(reinterpret_cast<void*>(kArenaBase), kArenaBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != reinterpret_cast<void*>(kArenaBase)) stop("infrastructure", "shared memory arena");
  memset(p, 0xff, kArenaBytes);
}

void shared_block_start() {
  map_arena();
  for (int i = 0; i < n_slots; ++i)
    if (slots[i].launch == run.launch_id) fill_cells(slots[i].offset, slots[i].bytes, kUninit);
  if (run.dynamic_bytes) fill_cells(kDynamicStart, run.dynamic_bytes, kUninit);
}

void shared_launch_end() {
  for (int i = 0; i < n_slots; ++i)
    if (slots[i].launch == run.launch_id) fill_cells(slots[i].offset, slots[i].bytes, kRedzone);
  if (run.dynamic_bytes) fill_cells(kDynamicStart, run.dynamic_bytes, kRedzone);
  active_static = 0;
}

struct Slot {
  uint32_t launch, offset;
};

void* dynamic_shared(size_t align) {
  map_arena();
  if (align > 1024) unsupported(0, "shared memory aligned to %zu bytes", align);
  return reinterpret_cast<void*>(kArenaBase + kDynamicStart);
}

void* shared_slot(Slot* slot, size_t bytes, size_t align, const char* name) {
  map_arena();
  if (slot->launch == run.launch_id) return reinterpret_cast<void*>(kArenaBase + slot->offset);
  if (!slot->offset) {
    if (n_slots == 256) unsupported(0, "more than 256 shared variables");
    uint32_t at = (next_static + kSlotGap + align - 1) / align * align;
    if (at + bytes + kSlotGap > kDynamicStart) stop("infrastructure", "static shared memory");
    slot->offset = at;
    next_static = at + static_cast<uint32_t>(bytes);
    slots[n_slots] = {at, static_cast<uint32_t>(bytes), 0, ""};
    snprintf(slots[n_slots].name, sizeof slots[n_slots].name, "%s", name);
    ++n_slots;
  }
  slot->launch = run.launch_id;
  for (int i = 0; i < n_slots; ++i)
    if (slots[i].offset == slot->offset) slots[i].launch = run.launch_id;
  fill_cells(slot->offset, static_cast<uint32_t>(bytes), kUninit);
  active_static += bytes;
  if (hot.in_kernel && (active_static > kSharedDefault || active_static + run.dynamic_bytes > kSharedOptIn))
    report("launch-limit", Severity::veto, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), 0, name, -1,
           "%u bytes of static (at most %zu) and %u of dynamic shared memory (at most %zu together)", active_static, kSharedDefault,
           run.dynamic_bytes, kSharedOptIn);
  return reinterpret_cast<void*>(kArenaBase + slot->offset);
}

// ---- cp.async --------------------------------------------------------------------------------------------------
void cp_async_issue(uint32_t dst, uintptr_t src, uint32_t bytes, uint32_t copied, uintptr_t pc) {
  Fiber& f = *hot.fiber;
  check_align(src, bytes, "cp.async", pc), check_align(kArenaBase + dst, bytes, "cp.async", pc);
  if (copied) check<false>(src, copied, pc);
  shared_pointer(dst, bytes, pc);
  settle_write();
  hot.accesses++;
  shared<true>(dst, bytes, pc);
  memset(reinterpret_cast<void*>(kArenaBase + dst), 0xff, bytes);
  for (uint32_t i = dst >> gran; i <= (dst + bytes - 1) >> gran; ++i)
    if (cells[i].w >> 62 == kInit) cells[i].w |= kPending << 62;
  if (f.n_pending == f.cap_pending) {
    f.cap_pending = f.cap_pending ? 2 * f.cap_pending : 32;
    f.pending = static_cast<CpAsync*>(realloc(f.pending, f.cap_pending * sizeof(CpAsync)));
  }
  f.pending[f.n_pending++] = {dst, bytes, copied, src, pc, f.committed};
}

// Keeps the newest `keep` committed groups and whatever was never committed; a negative number waits for all.
void cp_async_wait(int keep) {
  Fiber& f = *hot.fiber;
  uint32_t left = 0;
  for (uint32_t i = 0; i < f.n_pending; ++i) {
    const CpAsync op = f.pending[i];
    if (keep >= 0 && op.group + keep >= f.committed) {
      f.pending[left++] = op;
      continue;
    }
    auto* dst = reinterpret_cast<char*>(kArenaBase + op.dst);
    memcpy(dst, reinterpret_cast<void*>(op.src), op.copied);
    memset(dst + op.copied, 0, op.bytes - op.copied);
    uint64_t now = hot.shared_stamp | pc_id(op.pc) | kInit << 62;
    for (uint32_t k = op.dst >> gran; k <= (op.dst + op.bytes - 1) >> gran; ++k)
      if (cells[k].w >> 62 != kRedzone) cells[k].w = now;
  }
  f.n_pending = left;
}

// ---- buffers ---------------------------------------------------------------------------------------------------
Buffer* find_buffer(uintptr_t addr) {
  uintptr_t rel = addr - kGlobalBase;
  if (rel >= kGlobalSpan) return nullptr;
  uint16_t id = granules[rel >> kGranuleShift];
  return id ? &buffers[id] : nullptr;
}

static int log2_of(int elem) { return elem >= 4 ? 2 : elem == 2 ? 1 : 0; }

// One MiB of red zone before and at least as much behind; the bytes next to the buffer are NaN.
Buffer* add_buffer(const char* name, Role role, size_t bytes, int elem, int fd, size_t file_offset, size_t shift) {
  uintptr_t need = ((bytes + shift) >> kGranuleShift) + 3;
  if (n_buffers + 1 >= 1024 || next_granule + need >= (kGlobalSpan >> kGranuleShift)) return nullptr;
  Buffer& b = buffers[++n_buffers];
  uintptr_t start = kGlobalBase + (next_granule << kGranuleShift), place = start + (1u << kGranuleShift);
  for (uintptr_t i = 0; i < need; ++i) granules[next_granule + i] = static_cast<uint16_t>(n_buffers);
  next_granule += need;
  int flags = MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (mmap(reinterpret_cast<void*>(start), need << kGranuleShift, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return nullptr;
  size_t pages = (bytes + shift + 4095) / 4096 * 4096;
  if (fd >= 0 && bytes && mmap(reinterpret_cast<void*>(place), pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                               static_cast<off_t>(file_offset)) == MAP_FAILED)
    return nullptr;
  memset(reinterpret_cast<void*>(place - 4096), 0xff, 4096 + shift);
  auto* tail = reinterpret_cast<char*>(place + shift + bytes);
  memset(tail, 0xff, pages - shift - bytes + 4096);
  if (role != Role::input && role != Role::inout && role != Role::packed) memset(reinterpret_cast<void*>(place + shift), 0xff, bytes);
  snprintf(b.name, sizeof b.name, "%s", name);
  b.base = place + shift, b.bytes = bytes, b.role = role, b.freed = false, b.cells = nullptr;
  b.granule_shift = log2_of(elem);
  if (role != Role::input) {
    size_t cell_bytes = ((bytes >> b.granule_shift) + 2) * sizeof(uint64_t);
    void* p = mmap(nullptr, cell_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b.cells = p == MAP_FAILED ? nullptr : static_cast<uint64_t*>(p);
  }
  return &b;
}

void release_buffer(Buffer* b) { b->freed = true; }

// ---- kernel mode -----------------------------------------------------------------------------------------------
extern "C" char __executable_start, _end;

void enter_kernel_checks() {
  data_lo = reinterpret_cast<uintptr_t>(&__executable_start), data_hi = reinterpret_cast<uintptr_t>(&_end);
  main_lo = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  main_hi = main_lo + (8u << 20);
  hot.in_kernel = true;
  hot.stack_bytes = kStackBytes;
}

// On the host everything but device memory may be touched.
void leave_kernel_checks() {
  hot.in_kernel = false;
  hot.fiber = nullptr;
  hot.stack_lo = kGlobalBase + kGlobalSpan;
  hot.stack_bytes = ~uintptr_t(0) - kGlobalSpan;
}

}  // namespace emu

// ---- the names that instrumented code calls ----------------------------------------------------------------------
#define RET reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define ADDR(p) reinterpret_cast<uintptr_t>(p)
#define HOOKS(n)                                                                                      \
  void __tsan_read##n(void* p) { emu::check<false>(ADDR(p), n, RET); }                                \
  void __tsan_write##n(void* p) { emu::check<true>(ADDR(p), n, RET); }                                \
  void __tsan_unaligned_read##n(void* p) { emu::check<false>(ADDR(p), n, RET); }                      \
  void __tsan_unaligned_write##n(void* p) { emu::check<true>(ADDR(p), n, RET); }                      \
  void __tsan_volatile_read##n(void* p) { volatile_access(ADDR(p), n, false, RET); }                  \
  void __tsan_volatile_write##n(void* p) { volatile_access(ADDR(p), n, true, RET); }                  \
  void __tsan_unaligned_volatile_read##n(void* p) { volatile_access(ADDR(p), n, false, RET); }        \
  void __tsan_unaligned_volatile_write##n(void* p) { volatile_access(ADDR(p), n, true, RET); }

// Old warp code relies on lanes moving in lockstep between volatile accesses, and on hardware they do.
static void volatile_access(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc) {
  if (!emu::hot.in_kernel || addr - emu::hot.stack_lo < emu::hot.stack_bytes) return;
  if (addr - emu::kArenaBase < emu::kArenaBytes) {
    emu::soft_sync(pc);
    emu::hot.warp->epoch++;
    emu::refresh_stamp();
  }
  if (!write) emu::count_spin(addr, pc);
  if (write) emu::check<true>(addr, bytes, pc);
  else emu::check<false>(addr, bytes, pc);
}

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, size_t n) { emu::check<false>(ADDR(p), static_cast<uint32_t>(n), RET); }
void __tsan_write_range(void* p, size_t n) { emu::check<true>(ADDR(p), static_cast<uint32_t>(n), RET); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void) {}
bool emu_instrumented;
void __tsan_init(void) { emu_instrumented = true; }

// The kernel's object has its calls of memcpy and friends renamed to these.
void* emu_memcpy(void* d, const void* s, size_t n) {
  if (n && emu::hot.in_kernel) emu::check<false>(ADDR(s), static_cast<uint32_t>(n), RET), emu::check<true>(ADDR(d), static_cast<uint32_t>(n), RET);
  return memcpy(d, s, n);
}
void* emu_memmove(void* d, const void* s, size_t n) {
  if (n && emu::hot.in_kernel) emu::check<false>(ADDR(s), static_cast<uint32_t>(n), RET), emu::check<true>(ADDR(d), static_cast<uint32_t>(n), RET);
  return memmove(d, s, n);
}
void* emu_memset(void* d, int v, size_t n) {
  if (n && emu::hot.in_kernel) emu::check<true>(ADDR(d), static_cast<uint32_t>(n), RET);
  return memset(d, v, n);
}

struct UbsanMismatch {
  struct {
    const char* file;
    uint32_t line, column;
  } at;
  struct {
    uint16_t kind, info;
    char name[1];
  }* type;
  uint8_t log_alignment, check_kind;
};
void __ubsan_handle_type_mismatch_v1(UbsanMismatch* data, uintptr_t addr) {
  if (!emu::hot.in_kernel || addr == 0) return;
  if (addr - emu::hot.stack_lo < emu::hot.stack_bytes) return;
  const char* kinds[] = {"load", "store", "reference", "member access", "member call"};
  emu::check_align(addr, 1u << data->log_alignment, data->check_kind < 5 ? kinds[data->check_kind] : "access", RET, data->check_kind < 2);
}
void __ubsan_handle_type_mismatch_v1_abort(UbsanMismatch* data, uintptr_t addr) { __ubsan_handle_type_mismatch_v1(data, addr); }
}
