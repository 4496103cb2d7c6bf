// What was found, as JSON lines on a descriptor of its own. Equal findings are counted, the first one is kept whole.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rt.h"

#include <cuda_runtime.h>

extern "C" {
extern uint3 blockIdx;
extern uint3 threadIdx;
}

namespace emu {

namespace {
struct Record {
  char kind[24], buffer[64], kernel[80], detail[480];
  Severity severity;
  uintptr_t pc, pc2;
  int64_t offset;
  uint3 block, thread;
  bool in_kernel;
  uint64_t count;
  Chain chain;
};
constexpr int kMaxRecords = 200;
Record records[kMaxRecords];
int n_records;
int out_fd = 2;
bool finished;
uintptr_t main_frame;
const Chain* given;

void put(const char* fmt, ...) {
  char line[2048];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  if (n > static_cast<int>(sizeof line) - 1) n = sizeof line - 1;
  for (int done = 0; done < n;) {
    ssize_t k = write(out_fd, line + done, n - done);
    if (k <= 0) return;
    done += static_cast<int>(k);
  }
}

void quote(char* to, size_t room, const char* from) {
  size_t n = 0;
  for (; *from && n + 8 < room; ++from) {
    unsigned char c = *from;
    if (c == '"' || c == '\\') to[n++] = '\\', to[n++] = c;
    else if (c < 32) to[n++] = ' ';
    else to[n++] = c;
  }
  to[n] = 0;
}

void print(const Record& r) {
  char detail[1000], buffer[140], kernel[200];
  quote(detail, sizeof detail, r.detail), quote(buffer, sizeof buffer, r.buffer), quote(kernel, sizeof kernel, r.kernel);
  char stack[kChain * 24] = "";
  for (int i = 0, n = 0; i < kChain && r.chain.at[i]; ++i)
    n += snprintf(stack + n, sizeof stack - n, "%s%llu", i ? "," : "", static_cast<unsigned long long>(r.chain.at[i]));
  put("{\"kind\":\"%s\",\"severity\":\"%s\",\"kernel\":\"%s\",\"pc\":%llu,\"pc2\":%llu,\"block\":[%u,%u,%u],"
      "\"thread\":[%u,%u,%u],\"in_kernel\":%s,\"stack\":[%s],\"buffer\":\"%s\",\"offset\":%lld,\"count\":%llu,\"detail\":\"%s\"}\n",
      r.kind, r.severity == Severity::veto ? "veto" : "finding", kernel, static_cast<unsigned long long>(r.pc),
      static_cast<unsigned long long>(r.pc2), r.block.x, r.block.y, r.block.z, r.thread.x, r.thread.y, r.thread.z,
      r.in_kernel ? "true" : "false", stack, buffer, static_cast<long long>(r.offset), static_cast<unsigned long long>(r.count),
      detail);
}
}  // namespace

void open_reports(int fd, void* frame) { out_fd = fd, main_frame = reinterpret_cast<uintptr_t>(frame); }

// Kernels and runtime keep frame pointers, so the stack is a list.
Chain callers_of(uintptr_t pc) {
  Chain chain{};
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  uintptr_t end = hot.in_kernel ? frame + kStackBytes : main_frame;
  bool found = false;
  for (int n = 0; n < kChain && frame < end;) {
    auto* words = reinterpret_cast<uintptr_t*>(frame);
    if (found) chain.at[n++] = words[1];
    found |= words[1] == pc;
    if (words[0] <= frame || words[0] % 8) break;
    frame = words[0];
  }
  return chain;
}

void report_from(const Chain* chain) { given = chain; }

void report(const char* kind, Severity severity, uintptr_t pc, uintptr_t pc2, const char* buffer, int64_t offset,
            const char* detail, ...) {
  const Chain chain = given ? *given : callers_of(pc);
  for (int i = 0; i < n_records; ++i) {
    Record& r = records[i];
    if (r.pc == pc && !memcmp(&r.chain, &chain, sizeof chain) && !strcmp(r.kind, kind) && !strcmp(r.buffer, buffer)) {
      r.count++;
      if (severity == Severity::veto) r.severity = severity;
      return;
    }
  }
  if (n_records == kMaxRecords) return;
  Record& r = records[n_records++];
  snprintf(r.kind, sizeof r.kind, "%s", kind);
  snprintf(r.buffer, sizeof r.buffer, "%s", buffer);
  snprintf(r.kernel, sizeof r.kernel, "%s", run.kernel ? run.kernel : "");
  r.severity = severity, r.pc = pc, r.pc2 = pc2, r.offset = offset, r.count = 1, r.chain = chain;
  r.in_kernel = hot.in_kernel;
  r.block = blockIdx;
  r.thread = hot.in_kernel && hot.fiber ? uint3{hot.fiber->x, hot.fiber->y, hot.fiber->z} : uint3{0, 0, 0};
  va_list ap;
  va_start(ap, detail);
  vsnprintf(r.detail, sizeof r.detail, detail, ap);
  va_end(ap);
}

void finish(const char* status, int code) {
  if (finished) return;
  finished = true;
  for (int i = 0; i < n_records; ++i) print(records[i]);
  put("{\"status\":\"%s\",\"code\":%d,\"accesses\":%llu,\"launches\":%llu,\"blocks\":%llu,\"mma\":%llu,\"ptx\":%llu}\n", status,
      code, static_cast<unsigned long long>(hot.accesses), static_cast<unsigned long long>(run.launches),
      static_cast<unsigned long long>(run.blocks), static_cast<unsigned long long>(run.mma),
      static_cast<unsigned long long>(run.ptx));
}

void stop(const char* status, const char*) {
  finish(status, 0);
  fflush(nullptr);
  _exit(0);
}

void unsupported(uintptr_t pc, const char* construct, ...) {
  char text[300];
  va_list ap;
  va_start(ap, construct);
  vsnprintf(text, sizeof text, construct, ap);
  va_end(ap);
  report("unsupported", Severity::finding, pc, 0, "", -1, "%s", text);
  stop("unsupported", text);
}

void trap() {
  report("trap", Severity::veto, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), 0, "", -1, "__trap() was reached");
  stop("stopped", "trap");
}

extern "C" void __assert_fail(const char* expression, const char* file, unsigned line, const char*) noexcept {
  // CuTe's way to say that an instruction was not switched on.
  if (strstr(expression, "Attempting to use") || strstr(expression, "without"))
    unsupported(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), "%.150s", expression);
  report("assert", Severity::veto, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), 0, "", -1, "assert(%s) failed, %s:%u",
         expression, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
  stop("stopped", "assert");
}

}  // namespace emu
