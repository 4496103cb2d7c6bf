// Gives up files, processes and sockets, then becomes a kernel's program: nothing of the kernel runs outside, not even
// what the loader calls before the program's own filter stands (an ifunc's resolver, a malloc of the kernel's).
//
// Called as `cage CPU_S MEMORY_KIB FILE_KIB PROGRAM JOB REPORTS DATA`. The first line of the reports says what held.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"

namespace {

// Where the loader finds libraries; of these and the program nothing can be written.
const char* const kReadable[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/nix/store", "/etc/ld.so.cache"};

void limit(__rlimit_resource what, unsigned long most) {
  rlimit both{most, most};
  setrlimit(what, &both);
}

void limit_resources(char** caps) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the judge's end is ours
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0), limit(RLIMIT_NOFILE, 32);
  limit(RLIMIT_CPU, strtoul(caps[0], nullptr, 10));
  limit(RLIMIT_AS, strtoul(caps[1], nullptr, 10) << 10);
  limit(RLIMIT_FSIZE, strtoul(caps[2], nullptr, 10) << 10);
}

void allow(int rules, const char* path) {
  constexpr unsigned long execute = 1, read_file = 4, read_dir = 8;
  int parent = open(path, O_PATH | O_CLOEXEC);
  if (parent < 0) return;
  struct stat status;
  bool is_folder = fstat(parent, &status) == 0 && S_ISDIR(status.st_mode);
  struct __attribute__((packed)) {
    unsigned long allowed;
    int parent;
  } below{execute | read_file | (is_folder ? read_dir : 0), parent};  // EINVAL for a folder's right on a file
  syscall(445 /* landlock_add_rule */, rules, 1 /* path beneath */, &below, 0);
  close(parent);
}

// Landlock's rights grew from 13 to 16, then came TCP ports (version 4) and signals to others (version 6).
bool confine_files(const char* program) {
  long version = syscall(444 /* landlock_create_ruleset */, nullptr, 0, 1 /* which version */);
  if (version < 1) return false;
  int rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  struct {
    unsigned long files, ports, scopes;
  } handled{(1ul << rights) - 1, version >= 4 ? 3ul : 0, version >= 6 ? 3ul : 0};
  int rules = static_cast<int>(syscall(444, &handled, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0));
  if (rules < 0) return false;
  for (const char* path : kReadable) allow(rules, path);
  allow(rules, program);
  bool done = syscall(446 /* landlock_restrict_self */, rules, 0) == 0;
  close(rules);
  return done;
}

bool filter_calls() {
  sock_filter code[] = {EMU_HEAD, EMU_KILLS, EMU_RETURN(SECCOMP_RET_ALLOW)};
  sock_fprog program{sizeof code / sizeof code[0], code};
  return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

int give_up(int reports, const char* why) {
  dprintf(reports, "{\"status\":\"infrastructure\",\"code\":%d}\n", errno);
  dprintf(2, "%s: %s\n", why, strerror(errno));
  return 97;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const char* program = argv[4];
  int reports = atoi(argv[6]);
  limit_resources(argv + 1);
  bool files = confine_files(program), calls = filter_calls();
  dprintf(reports, "{\"confined\":\"%s%s\"}\n", files ? "files " : "", calls ? "calls" : "");
  if (!calls) return give_up(reports, "seccomp is not to be had, so no kernel is run");
  execv(program, argv + 4);
  return give_up(reports, "the program does not start");
}
