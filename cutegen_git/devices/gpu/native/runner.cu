// The process that hosts a candidate. It holds no torch, no reference, no seed and no expected value: it maps the
// judge's memory, calls the library's functions and says how each call ended. What it says is never trusted for
// correctness (the judge looks at its own memory) and is bounded by the judge's own clock for time.
//
// Commands are lines on stdin, one reply line each:
//   ok [words]            done
//   cuda STAGE CODE NAME  a CUDA error; after a sticky one the process is of no more use
//   bad TEXT              the judge and the runner do not understand each other
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <map>
#include <sstream>

#include "sandbox.h"
#include "timing.cuh"

namespace {

struct Args;
using LaunchFn = cudaError_t (*)(const Args&, cudaStream_t);
using WorkspaceFn = size_t (*)(const Args&);
using PrepareFn = cudaError_t (*)(const Args&, void*, cudaStream_t);
using SetupFn = cudaError_t (*)(const Args&);

struct Runner {
  FILE* out = nullptr;
  cudaStream_t stream = nullptr;
  cutegen::Timer timer;
  std::map<int, char*> slots;      // the judge's allocations
  std::vector<uint64_t> args;      // the bytes of Args, aligned
  LaunchFn launch = nullptr;
  WorkspaceFn workspace = nullptr;
  PrepareFn prepare = nullptr;
  SetupFn setup = nullptr;

  const Args& packed() const { return *reinterpret_cast<const Args*>(args.data()); }

  void ok(const std::string& words = "") { fprintf(out, "ok %s\n", words.c_str()); }
  void bad(const std::string& text) { fprintf(out, "bad %s\n", text.c_str()); }

  // Says what went wrong, or nothing. True if all is well.
  bool fine(const char* stage, cudaError_t error) {
    if (error == cudaSuccess) return true;
    fprintf(out, "cuda %s %d %s\n", stage, int(error), cudaGetErrorName(error));
    return false;
  }

  // launch() may return success and leave an error behind, or the other way round.
  bool launched() {
    cudaError_t returned = launch(packed(), stream);
    cudaError_t left = cudaGetLastError();
    return fine("launch", returned != cudaSuccess ? returned : left);
  }

  bool synced() { return fine("sync", cudaStreamSynchronize(stream)) && fine("sync", cudaGetLastError()); }
};

std::string unhex(const std::string& text) {
  std::string bytes(text.size() / 2, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = char(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

void map_slot(Runner& run, std::istringstream& words) {
  int slot;
  std::string hex;
  words >> slot >> hex;
  std::string bytes = unhex(hex);
  cudaIpcMemHandle_t handle;
  if (bytes.size() != sizeof handle) return run.bad("handle");
  memcpy(&handle, bytes.data(), sizeof handle);
  void* pointer = nullptr;
  if (!run.fine("map", cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess))) return;
  run.slots[slot] = static_cast<char*>(pointer);
  run.ok();
}

void load(Runner& run, const std::string& path) {
  // RTLD_LOCAL: what the library defines cannot stand in for what the runner calls.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return run.bad(std::string("dlopen ") + dlerror());
  run.launch = reinterpret_cast<LaunchFn>(dlsym(library, "launch"));
  run.workspace = reinterpret_cast<WorkspaceFn>(dlsym(library, "workspace_bytes"));
  run.prepare = reinterpret_cast<PrepareFn>(dlsym(library, "prepare"));
  run.setup = reinterpret_cast<SetupFn>(dlsym(library, "setup"));
  if (!run.launch) return run.bad("no launch");
  run.ok(std::string("launch") + (run.workspace ? " workspace_bytes" : "") + (run.prepare ? " prepare" : "") +
         (run.setup ? " setup" : ""));
}

// args HEX [OFFSET SLOT DELTA]...: the bytes of Args with pointers to be filled in.
void set_args(Runner& run, std::istringstream& words) {
  std::string hex;
  words >> hex;
  std::string bytes = unhex(hex);
  run.args.assign((bytes.size() + 7) / 8, 0);
  memcpy(run.args.data(), bytes.data(), bytes.size());
  size_t offset;
  int slot;
  int64_t delta;
  while (words >> offset >> slot >> delta) {
    auto found = run.slots.find(slot);
    if (found == run.slots.end() || offset + 8 > bytes.size()) return run.bad("pointer");
    char* pointer = found->second + delta;
    memcpy(reinterpret_cast<char*>(run.args.data()) + offset, &pointer, 8);
  }
  run.ok();
}

void prepare(Runner& run, std::istringstream& words) {
  int slot;
  int64_t delta;
  words >> slot >> delta;
  auto found = run.slots.find(slot);
  if (found == run.slots.end()) return run.bad("packed");
  cudaError_t returned = run.prepare(run.packed(), found->second + delta, run.stream);
  cudaError_t left = cudaGetLastError();
  if (run.fine("prepare", returned != cudaSuccess ? returned : left) && run.synced()) run.ok();
}

std::string join(const std::vector<int64_t>& values) {
  std::ostringstream text;
  for (int64_t value : values) text << value << ' ';
  return text.str();
}

// time N LIMIT_NS: N calls, the stream held until all are enqueued, the caches flushed before each.
void time_held(Runner& run, std::istringstream& words) {
  int count;
  int64_t limit_ns;
  words >> count >> limit_ns;
  if (!run.fine("timer", run.timer.reserve(count)) || !run.fine("timer", cudaCtxResetPersistingL2Cache())) return;
  if (!run.fine("timer", run.timer.hold(run.stream, limit_ns))) return;
  for (int call = 0; call < count; ++call) {
    run.timer.flush(run.stream);
    run.timer.mark(call, 0, run.stream);
    if (!run.launched()) return run.timer.release();
    run.timer.mark(call, 1, run.stream);
  }
  bool expired = run.timer.has_expired();
  run.timer.release();
  if (!run.synced()) return;
  std::vector<int64_t> ns(count);
  for (int call = 0; call < count; ++call)
    if (!run.fine("timer", run.timer.elapsed(call, &ns[call]))) return;
  run.ok((expired ? "expired " : "held ") + join(ns));
}

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

// calls N: host time from the call of launch() to the end of its work, the caches flushed before each.
void time_calls(Runner& run, std::istringstream& words) {
  int count;
  words >> count;
  std::vector<int64_t> ns(count);
  for (int call = 0; call < count; ++call) {
    run.timer.flush(run.stream);
    if (!run.synced()) return;
    int64_t start = now_ns();
    if (!run.launched() || !run.synced()) return;
    ns[call] = now_ns() - start;
  }
  run.ok(join(ns));
}

// batch N: N calls back to back; the judge takes the time.
void batch(Runner& run, std::istringstream& words) {
  int count;
  words >> count;
  for (int call = 0; call < count; ++call)
    if (!run.launched()) return;
  if (run.synced()) run.ok();
}

// held LIMIT_NS: one call behind a held stream. Between this and "release" nothing of its work may have happened.
void held(Runner& run, std::istringstream& words) {
  int64_t limit_ns;
  words >> limit_ns;
  if (!run.fine("timer", run.timer.hold(run.stream, limit_ns))) return;
  if (!run.launched()) return run.timer.release();
  run.ok(run.timer.has_expired() ? "expired" : "held");
}

void release(Runner& run) {
  run.timer.release();
  if (run.synced()) run.ok();
}

__global__ void probe_kernel(unsigned* value) { *value = *value * 3u + 1u; }

// A known kernel: tells a broken device from a broken candidate.
void probe(Runner& run) {
  unsigned *device = nullptr, value = 14;
  cudaError_t e = cudaMalloc(&device, sizeof value);
  if (e == cudaSuccess) e = cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice);
  if (e == cudaSuccess) probe_kernel<<<1, 1>>>(device);
  if (e == cudaSuccess) e = cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
  cudaFree(device);
  if (run.fine("probe", e)) value == 43 ? run.ok() : run.bad("probe result");
}

// open FLUSH_BYTES: the device, after the network is gone.
void open_device(Runner& run, std::istringstream& words) {
  int64_t flush_bytes;
  words >> flush_bytes;
  // Non-blocking: work that a launch puts on another stream, the default one too, is not behind this one.
  if (!run.fine("open", cudaStreamCreateWithFlags(&run.stream, cudaStreamNonBlocking))) return;
  if (!run.fine("open", run.timer.open(flush_bytes))) return;
  run.timer.flush(run.stream);  // loads the timing kernels before files are confined
  if (run.synced()) run.ok();
}

// confine [PATH]...: what is readable from here on; then no fork, exec or socket.
void confine(Runner& run, std::istringstream& words) {
  std::vector<std::string> paths;
  for (std::string path; words >> path;) paths.push_back(unhex(path));
  std::string kept;
  if (cutegen::confine_files(paths)) kept += "files ";
  if (cutegen::filter_calls()) kept += "calls ";
  run.ok(kept);
}

void serve(Runner& run, const std::string& line) {
  std::istringstream words(line);
  std::string verb, path;
  words >> verb;
  if (verb == "open") return open_device(run, words);
  if (verb == "confine") return confine(run, words);
  if (verb == "probe") return probe(run);
  if (verb == "map") return map_slot(run, words);
  if (verb == "load") return words >> path, load(run, unhex(path));
  if (verb == "args") return set_args(run, words);
  if (!run.launch) return run.bad("nothing loaded");
  if (verb == "workspace") return run.ok(std::to_string(run.workspace(run.packed())));
  if (verb == "setup") return run.fine("setup", run.setup(run.packed())) ? run.ok() : void();
  if (verb == "prepare") return prepare(run, words);
  if (verb == "launch") return run.launched() && run.synced() ? run.ok() : void();
  if (verb == "held") return held(run, words);
  if (verb == "release") return release(run);
  if (verb == "time") return time_held(run, words);
  if (verb == "calls") return time_calls(run, words);
  if (verb == "batch") return batch(run, words);
  run.bad("verb");
}

}  // namespace

int main() {
  Runner run;
  run.out = fdopen(dup(1), "w");
  FILE* in = fdopen(dup(0), "r");
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);  // a candidate that prints 1 GB prints it here
  signal(SIGXFSZ, SIG_IGN);
  bool offline = cutegen::leave_network();
  cutegen::limit_resources(600);
  fprintf(run.out, "ok runner 1%s\n", offline ? " network" : "");
  fflush(run.out);
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, in) > 0) {
    serve(run, line);
    fflush(run.out);
  }
  _exit(0);  // no destructor of the candidate runs
}
