// The runtime's own view of the emulated GPU. Never seen by a kernel; compiled without instrumentation.
#pragma once
#include <cstddef>
#include <cstdint>

namespace emu {

// One arena holds all shared memory, so that 32-bit shared addresses are offsets into it.
constexpr uintptr_t kArenaBase = 0x100000000000;
constexpr uint32_t kArenaBytes = 1u << 20;
constexpr uint32_t kStaticStart = 1024;
constexpr uint32_t kDynamicStart = 512u << 10;
constexpr uint32_t kSlotGap = 256;
// Device memory: every buffer lives in its own run of 1 MiB granules, red zones included.
constexpr uintptr_t kGlobalBase = 0x200000000000;
constexpr uintptr_t kGlobalSpan = uintptr_t(64) << 30;
constexpr int kGranuleShift = 20;
constexpr uintptr_t kStackBytes = 256u << 10;
constexpr int kMaxThreads = 1024, kMaxWarps = 32;

// Limits of sm_89 (CUDA programming guide, table of compute capabilities).
constexpr size_t kSharedDefault = 48u << 10, kSharedOptIn = 99u << 10;

enum class Role : uint8_t { input, output, inout, workspace, packed };

struct Buffer {
  char name[64];
  uintptr_t base;
  size_t bytes;
  uint64_t* cells;    // one per granule: who wrote it last; null where not followed
  int granule_shift;  // log2 of the element size
  Role role;
  bool freed;
};

struct CpAsync {
  uint32_t dst, bytes, copied;
  uintptr_t src, pc;
  uint32_t group;
};

struct Warp;
enum class Wait : uint8_t { none, collective, barrier, soft, exited };

struct Fiber {
  void* sp;
  uintptr_t stack_lo;
  int tid, lane, warp;
  Wait wait;
  int coll_kind;
  uint32_t coll_mask;
  int barrier_id;
  void* payload;
  void (*group_fn)(struct Warp& warp, uint32_t mask, Fiber* lanes);
  const char* file;  // where it waits
  int line;
  uintptr_t pc;
  CpAsync* pending;
  uint32_t n_pending, cap_pending, committed;
  uintptr_t spin_addr;
  uint32_t spin_count;
  uint32_t x, y, z;
};

struct Warp {
  uint32_t exists, live, runnable, soft;
  uint32_t clock, epoch;
  uint32_t vc[kMaxWarps];  // vc[w]: the last clock of warp w that is ordered before this warp
};

// Everything that the access hooks touch, in one place with a fixed address.
struct Hot {
  uintptr_t stack_lo, stack_bytes;  // addresses that need no check
  bool in_kernel;
  Fiber* fiber;
  Warp* warp;
  uint64_t shared_stamp;  // epoch, clock, thread, already in place for a shared cell
  uint64_t global_stamp;
  uint64_t accesses;
};
extern Hot hot;

struct Run {
  Fiber fibers[kMaxThreads];
  Warp warps[kMaxWarps];
  int n_threads, n_warps;
  uint32_t launch_id;
  uint64_t block_linear;
  bool fenced;  // a fence or an atomic was seen in this launch
  const char* kernel;
  uint32_t dynamic_bytes;
  uint64_t launches, blocks, mma, ptx;
};
extern Run run;

enum class Order : uint8_t { forward, reverse, random };
extern Order order;
uint32_t rng();
void seed_rng(uint64_t seed);

// --- sched.cpp
using GroupFn = void (*)(Warp& warp, uint32_t mask, Fiber* lanes);
void collective(int kind, uint32_t mask, void* payload, GroupFn fn, uintptr_t pc, const char* what);
void barrier(int id, int expected, bool wait, uintptr_t pc, const char* file, int line);
uint32_t soft_sync(uintptr_t pc);  // in lockstep with the warp; the lanes that waited at the same place
void refresh_stamp();
void count_spin(uintptr_t addr, uintptr_t pc);

// --- check.cpp
void access(uintptr_t addr, uint32_t bytes, bool write, uintptr_t pc, bool atomic = false);
void shared_access(uint32_t offset, uint32_t bytes, bool write, uintptr_t pc);
uintptr_t shared_pointer(uint32_t handle, uint32_t bytes, uintptr_t pc);
void check_align(uintptr_t addr, uint32_t align, const char* what, uintptr_t pc, bool fatal = true);
void shared_block_start();
void shared_launch_end();
void cp_async_issue(uint32_t dst, uintptr_t src, uint32_t bytes, uint32_t copied, uintptr_t pc);
void cp_async_wait(int keep);
Buffer* find_buffer(uintptr_t addr);
Buffer* add_buffer(const char* name, Role role, size_t bytes, int elem, int fd, size_t file_offset, size_t shift);
void release_buffer(Buffer* buffer);
void enter_kernel_checks();
void leave_kernel_checks();
void settle_write();

// --- report.cpp
enum class Severity : uint8_t { finding, veto };
void report(const char* kind, Severity severity, uintptr_t pc, uintptr_t pc2, const char* buffer, int64_t offset,
            const char* detail, ...) __attribute__((format(printf, 7, 8)));
[[noreturn]] void unsupported(uintptr_t pc, const char* construct, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void stop(const char* status, const char* detail);
// The callers of the code at pc, innermost first, where pc is on the present stack. Zero ends the list.
constexpr int kChain = 12;
struct Chain {
  uintptr_t at[kChain];
};
Chain callers_of(uintptr_t pc);
void report_from(const Chain* chain);  // for what was seen earlier: use these callers until called with null
void finish(const char* status, int code);
void open_reports(int fd, void* main_frame);

// --- ptx.cpp
struct Program;
void ptx_exec(Program* program, uint64_t* values, uintptr_t pc);
bool mma_prepare(const char* opcode, void** plan);
int mma_regs(const void* plan, int which);  // 32-bit registers of a, b, c, d
bool mma_is_f64(const void* plan);
void mma_run(void* plan, uint32_t* frag, uintptr_t pc);

}  // namespace emu
