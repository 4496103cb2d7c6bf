// A "kernel" for the fake CUDA runtime: the product on the host, and one way to go wrong chosen by -DFAULT=n.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Args {
  const float *A, *B;
  float* C;
  int64_t M, N, K;
  void* workspace;
  const void* packed;
};

static int fault(const Args& a) {
#if FAULT == 1
  exit(0);
#elif FAULT == 2
  *reinterpret_cast<volatile int*>(8) = 1;
#elif FAULT == 3
  for (;;) usleep(1000);
#elif FAULT == 4
  if (fork() == 0) _exit(0);
#elif FAULT == 5
  socket(AF_INET, SOCK_STREAM, 0);
#elif FAULT == 6
  for (int i = 0; i < 2000; ++i) puts("a line on stdout that is long enough to fill a pipe sooner or later");
#elif FAULT == 7
  std::vector<char*> kept;
  for (;;) {
    char* block = static_cast<char*>(malloc(16 << 20));
    for (int i = 0; i < 16 << 20; i += 4096) block[i] = 1;
    kept.push_back(block);
  }
#elif FAULT == 8
  static_cast<float*>(a.workspace)[1] = 0;
#elif FAULT == 9
  return 700;
#elif FAULT == 10  // what it must not be able to do; the product is right only if all of it fails
  if (open("/tmp/cutegen-candidate-wrote", O_WRONLY | O_CREAT, 0600) >= 0) return 9;
  if (opendir("/root") || opendir("/home") || opendir("/tmp")) return 9;
  if (getenv("HOME") || getenv("SECRET_API_KEY") || getenv("GIT_DIR")) return 9;
  std::thread([] {}).join();  // threads are allowed: the driver has some
#elif FAULT == 11
  execl("/bin/true", "true", nullptr);
#endif
  (void)a;
  return 0;
}

extern "C" size_t workspace_bytes(const Args& a) { return a.M ? 4 : 0; }
extern "C" int launch(const Args& a, void*) {
  if (int code = fault(a)) return code;
  for (int64_t i = 0; i < a.M; ++i)
    for (int64_t j = 0; j < a.N; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < a.K; ++k) sum += a.A[i * a.K + k] * a.B[k * a.N + j];
      a.C[i * a.N + j] = sum;
    }
  return 0;
}
