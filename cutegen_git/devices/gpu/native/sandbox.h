// What the runner gives up before it loads a candidate. Each step says whether it took hold; none is fatal,
// the verdict names them. Limits must bind root too: RLIMIT_NPROC does not, RLIMIT_AS breaks CUDA.
#pragma once
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

namespace cutegen {

// Before CUDA starts its threads: a network namespace belongs to a thread.
inline bool leave_network() {
  if (unshare(CLONE_NEWNET) == 0) return true;
  return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

inline void limit_resources(int cpu_seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the judge's end is ours
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  rlimit none{0, 0}, cpu{rlim_t(cpu_seconds), rlim_t(cpu_seconds)}, file{1 << 20, 1 << 20};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_FSIZE, &file);
}

// Files: read below `readable` only, write nowhere but /dev (the driver's device files).
inline bool confine_files(const std::vector<std::string>& readable) {
#if defined(__NR_landlock_create_ruleset) || defined(__x86_64__)
  constexpr long create = 444, add = 445, restrict_self = 446;
  constexpr uint64_t execute = 1, write_file = 2, read_file = 4, read_dir = 8;
  constexpr uint64_t all = (1ull << 13) - 1;  // the thirteen rights of landlock's first version
  struct {
    uint64_t handled;
  } rules{all};
  int fd = int(syscall(create, &rules, sizeof rules, 0));
  if (fd < 0) return false;
  struct __attribute__((packed)) Below {
    uint64_t allowed;
    int32_t parent;
  };
  auto allow = [&](const char* path, uint64_t rights) {
    int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent < 0) return;
    struct stat status;
    bool is_folder = fstat(parent, &status) == 0 && S_ISDIR(status.st_mode);
    Below below{is_folder ? rights : rights & ~read_dir, parent};  // EINVAL for a folder's right on a file
    syscall(add, fd, 1 /* path beneath */, &below, 0);
    close(parent);
  };
  for (const std::string& path : readable) allow(path.c_str(), execute | read_file | read_dir);
  allow("/dev", write_file | read_file | read_dir);
  allow("/proc", read_file | read_dir | write_file);  // the driver names its threads there
  bool done = syscall(restrict_self, fd, 0) == 0;
  close(fd);
  return done;
#else
  return false;
#endif
}

// Kills the process at fork, exec, ptrace and internet sockets. clone3 keeps its flags in memory where a filter
// cannot look: ENOSYS makes the C library use clone, whose flags say whether it is a thread.
inline bool filter_calls() {
#if defined(__x86_64__)
  constexpr unsigned arch = AUDIT_ARCH_X86_64;
#define CUTEGEN_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, field))
#define CUTEGEN_DENY(nr, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
  sock_filter code[] = {
      CUTEGEN_LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),  // the x32 numbers would step around the filter
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_execve, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_execveat, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_fork, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_vfork, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_ptrace, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_process_vm_readv, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_process_vm_writev, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(__NR_setsid, SECCOMP_RET_KILL_PROCESS),
      CUTEGEN_DENY(435 /* clone3 */, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 4),
      CUTEGEN_LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 5),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
      CUTEGEN_LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(sizeof code / sizeof code[0]), code};
  // TSYNC: the driver's threads are bound too.
  return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#else
  return false;
#endif
}

}  // namespace cutegen
