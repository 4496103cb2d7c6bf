// The program's entry: reads the job, lays out the buffers, packs Args, calls setup, prepare and launch, then reports.
//
// Called as `program JOB REPORTS DATA`, three descriptors: the job is lines of words, reports are JSON lines, and the
// tensors' bytes lie in the data file.
//   order NAME SEED
//   field pointer NAME ROLE BYTES ELEM FILE_OFFSET SHIFT     (SHIFT moves the start off its page: alignment checks)
//   field value NAME SIZE HEX
//   args SIZE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rt.h"

extern "C" {
int launch(const void* args, void* stream);
__attribute__((weak)) size_t workspace_bytes(const void* args);
__attribute__((weak)) int prepare(const void* args, void* packed, void* stream);
__attribute__((weak)) int setup(const void* args);
extern bool emu_instrumented;
extern unsigned long emu_args_bytes __attribute__((weak));
int cudaPeekAtLastError();
}

namespace {
alignas(16) unsigned char args[4096];
size_t args_size;
int data_fd;
void* packed;
size_t workspace_at;
bool has_workspace;

void place(const void* value, size_t size) {
  args_size = (args_size + size - 1) / size * size;
  if (args_size + size > sizeof args) emu::stop("infrastructure", "too many arguments");
  memcpy(args + args_size, value, size);
  args_size += size;
}

emu::Role role_of(const char* s) {
  if (!strcmp(s, "input")) return emu::Role::input;
  if (!strcmp(s, "output")) return emu::Role::output;
  if (!strcmp(s, "inout")) return emu::Role::inout;
  if (!strcmp(s, "packed")) return emu::Role::packed;
  return emu::Role::workspace;
}

void pointer_field(const char* line) {
  char name[64], role[16];
  size_t bytes, offset, shift;
  int elem;
  if (sscanf(line, "field pointer %63s %15s %zu %d %zu %zu", name, role, &bytes, &elem, &offset, &shift) != 6) emu::stop("infrastructure", "job");
  if (!strcmp(role, "workspace") && bytes == 0) {  // its size is asked for once the other arguments stand
    void* none = nullptr;
    place(&none, 8);
    workspace_at = args_size - 8, has_workspace = true;
    return;
  }
  if (!strcmp(role, "packed") && !prepare) {  // nobody would write it
    void* none = nullptr;
    return place(&none, 8);
  }
  emu::Buffer* b = emu::add_buffer(name, role_of(role), bytes, elem, data_fd, offset, shift);
  if (!b) emu::stop("infrastructure", "no room for the buffers");
  void* p = reinterpret_cast<void*>(b->base);
  if (!strcmp(role, "packed")) packed = p;
  place(&p, 8);
}

void value_field(const char* line) {
  char name[64];
  size_t size;
  unsigned long long bits;
  if (sscanf(line, "field value %63s %zu %llx", name, &size, &bits) != 3) emu::stop("infrastructure", "job");
  place(&bits, size);
}

void read_job(int fd) {
  FILE* job = fdopen(fd, "r");
  char line[512], name[32];
  unsigned long long seed;
  size_t expected = 0;
  while (job && fgets(line, sizeof line, job)) {
    if (sscanf(line, "order %31s %llu", name, &seed) == 2) {
      emu::order = !strcmp(name, "forward") ? emu::Order::forward : !strcmp(name, "reverse") ? emu::Order::reverse : emu::Order::random;
      emu::seed_rng(seed);
    } else if (!strncmp(line, "field pointer", 13)) {
      pointer_field(line);
    } else if (!strncmp(line, "field value", 11)) {
      value_field(line);
    } else if (sscanf(line, "args %zu", &expected) == 1) {
      args_size = (args_size + 7) / 8 * 8;
      bool same = args_size == expected || !expected;
      if (!same || (&emu_args_bytes && emu_args_bytes != args_size)) emu::stop("infrastructure", "Args has another size");
    }
  }
  if (job) fclose(job);
}

void add_workspace() {
  if (!has_workspace || !workspace_bytes) return;
  size_t bytes = workspace_bytes(args);
  if (!bytes) return;
  emu::Buffer* b = emu::add_buffer("workspace", emu::Role::workspace, bytes, 4, -1, 0, 0);
  if (!b) emu::stop("infrastructure", "no room for the workspace");
  void* p = reinterpret_cast<void*>(b->base);
  memcpy(args + workspace_at, &p, 8);
}

void on_signal(int number, siginfo_t* info, void* context) {
  auto pc = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]) + 1;
  auto addr = reinterpret_cast<uintptr_t>(info->si_addr);
  bool stack = emu::hot.in_kernel && number == SIGSEGV && emu::hot.stack_lo - addr < 8192;
  emu::report(stack ? "stack-overflow" : "crash", emu::Severity::veto, pc, 0, "", -1, stack ? "local arrays of one thread need more than 256 KiB" : "signal %d at 0x%llx", number,
              static_cast<unsigned long long>(addr));
  emu::finish("crashed", number);
  _exit(0);
}

void catch_signals() {
  static char stack[65536];
  stack_t alt{};
  alt.ss_sp = stack, alt.ss_size = sizeof stack;
  sigaltstack(&alt, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (int s : signals) sigaction(s, &action, nullptr);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  emu::open_reports(atoi(argv[2]), __builtin_frame_address(0));
  data_fd = atoi(argv[3]);
  emu::leave_kernel_checks();
  catch_signals();
  read_job(atoi(argv[1]));
  add_workspace();
  int code = setup ? setup(args) : 0;
  if (!code && prepare && packed) code = prepare(args, packed, nullptr);
  if (!code) code = launch(args, nullptr);
  if (!code) code = cudaPeekAtLastError();
  if (!emu_instrumented) emu::stop("infrastructure", "the kernel was not instrumented");
  emu::finish(code ? "launch-error" : "ok", code);
  fflush(nullptr);
  _exit(0);
}
