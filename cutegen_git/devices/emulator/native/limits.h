// What a kernel's process may ask of the system. Two filters, both by raw numbers: the cage's stands before the program
// is even loaded, the program's own before its first constructor. Where both say something the stricter one wins.
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#if !defined(__x86_64__)
#error "the emulator's filters know the system calls of x86-64 only"
#endif

#define EMU_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, field))
#define EMU_RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define EMU_WHEN(nr, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), EMU_RETURN(action)
#define EMU_KILL(nr) EMU_WHEN(nr, SECCOMP_RET_KILL_PROCESS)
#define EMU_ALLOW(nr) EMU_WHEN(nr, SECCOMP_RET_ALLOW)
#define EMU_REFUSE SECCOMP_RET_ERRNO | EPERM

// Another architecture's numbers would step around the filter.
#define EMU_HEAD                                                                       \
  EMU_LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),        \
      EMU_RETURN(SECCOMP_RET_KILL_PROCESS), EMU_LOAD(nr),                              \
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), EMU_RETURN(SECCOMP_RET_KILL_PROCESS)

// No kernel does these by accident. clone3 keeps its flags where a filter cannot look: the C library then uses clone.
#define EMU_KILLS                                                                                              \
  EMU_KILL(__NR_fork), EMU_KILL(__NR_vfork), EMU_WHEN(435 /* clone3 */, SECCOMP_RET_ERRNO | ENOSYS),           \
      EMU_KILL(__NR_socket), EMU_KILL(__NR_socketpair), EMU_KILL(__NR_connect), EMU_KILL(__NR_ptrace),         \
      EMU_KILL(__NR_process_vm_readv), EMU_KILL(__NR_process_vm_writev), EMU_KILL(__NR_setsid),                \
      EMU_KILL(__NR_kill), EMU_KILL(__NR_unshare), EMU_KILL(__NR_setns), EMU_KILL(__NR_bpf),                   \
      EMU_KILL(425 /* io_uring_setup */), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),               \
      EMU_LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), EMU_RETURN(EMU_REFUSE),     \
      EMU_RETURN(SECCOMP_RET_KILL_PROCESS)
