// What a kernel file may try on its machine: in a static constructor, before it, and in launch.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#ifndef EARLY
#define EARLY -1
#endif

// Every name of the C library may be the kernel's own: the limits must not go through one of these.
extern "C" long syscall(long, ...) noexcept { return 0; }
extern "C" int prctl(int, ...) noexcept { return 0; }

// Machine code, since `asm` belongs to the GPU here: the arguments move on by one, r10 takes the fourth, syscall, ret.
__attribute__((section(".text.ask,\"ax\",@progbits#"), used)) static const unsigned char ask_code[] = {
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x0f, 0x05, 0xc3};
static long ask(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  return reinterpret_cast<long (*)(long, long, long, long, long)>(reinterpret_cast<unsigned long>(ask_code))(number, a, b, c, d);
}

static long path(const char* name) { return reinterpret_cast<long>(name); }

// 0 where the machine said no, 1 where it did what it must not.
static int attempt(int which) {
  switch (which) {
    case 0: return ask(SYS_open, path(TARGET), O_WRONLY | O_CREAT, 0600) >= 0;
    case 1: return ask(SYS_openat, AT_FDCWD, path("/etc/passwd"), O_RDONLY) >= 0;
    case 2: return fopen("/etc/passwd", "r") != nullptr;
    case 3: return ask(SYS_mkdir, path(TARGET), 0700) >= 0;
    case 4: return ask(SYS_symlink, path("/etc/passwd"), path(TARGET)) >= 0;
    case 5: return ask(SYS_openat, AT_FDCWD, path("/proc/self/mem"), O_RDWR) >= 0;
    case 6: return ask(SYS_memfd_create, path("x"), 0) >= 0;
    case 7: return ask(SYS_tkill, ask(SYS_getppid), 0) >= 0;
    case 8: return ask(SYS_prlimit64, 0, 7, 0, 0) >= 0;
    case 9: { struct stat s; return stat("/etc/passwd", &s) == 0; }
    case 20: return ask(SYS_socket, AF_INET, SOCK_STREAM) >= 0;
    case 21: return ask(SYS_socket, AF_UNIX, SOCK_STREAM) >= 0;
    case 22: return fork() >= 0;
    case 23: return ask(SYS_vfork) >= 0;
    case 24: { char* none[] = {nullptr}; return execve("/bin/true", none, none) == 0; }
    case 25: return ask(SYS_ptrace, PTRACE_TRACEME) >= 0;
    case 26: return ask(SYS_kill, ask(SYS_getpid), SIGCONT) >= 0;
    case 27: return ask(SYS_setsid) >= 0;
    case 28: return ask(SYS_clone, SIGCHLD) >= 0;
    case 29: return system("true") == 0;
    default: return -1;
  }
}

static int seen = -1;
struct Early {
  Early() { seen = attempt(EARLY); }
};
static Early early;

#ifdef RESOLVER
// An ifunc's resolver is called by the loader, before .preinit_array.
static int resolved = -1;
static int chosen() { return 1; }
extern "C" {
static int (*resolve())() {
  resolved = attempt(EARLY);
  return chosen;
}
int loaded() __attribute__((ifunc("resolve")));
}
#endif
#ifdef PREINIT
static void before(int, char**, char**) { seen = attempt(EARLY); }
__attribute__((section(".preinit_array"), used)) static void (*entry)(int, char**, char**) = before;
#endif

__global__ void copy(const float* x, float* y, float v) { y[threadIdx.x] = x[threadIdx.x] + v; }

extern "C" cudaError_t launch(const Args& a, cudaStream_t s) {
  int found = a.which >= 0 ? attempt(a.which) : seen;
#ifdef RESOLVER
  loaded();
  found = resolved;
#endif
  copy<<<1, 64, 0, s>>>(a.x, a.y, found > 0 ? 1.0f : 0.0f);
  return cudaGetLastError();
}
