// One inline-assembly text, read once: instructions over a flat file of 64-bit registers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

struct PtxType {
  char kind = 'b';  // u, s, f, b; p for predicates
  int bits = 32;
  int lanes = 1;  // 2 for f16x2 and bf16x2
  bool brain = false, tf32 = false;
  char fp8 = 0;  // '4' for e4m3, '5' for e5m2
};

struct Operand {
  enum Kind : uint8_t { reg, imm, special, vec, mem, sink } kind = sink;
  bool negated = false;
  int index = 0;  // register or special
  uint64_t value = 0;
  int64_t offset = 0;
  std::vector<Operand> parts;  // of a vector; the base of an address
  int second = -1;             // the predicate of "d|p"
};

struct Instr;
struct Machine {
  uint64_t* r;
  uintptr_t pc;
  int next;
  const Instr* at;
};
using Exec = void (*)(Machine&, const Instr&);

struct Instr {
  std::string opcode;
  std::vector<std::string> parts;
  std::vector<PtxType> types;
  std::vector<Operand> ops;
  int guard = -1;
  bool guard_negated = false;
  Exec exec = nullptr;
  int sub = 0;  // whatever the executor worked out once
  void* plan = nullptr;
  bool has(const char* part) const {
    for (const auto& p : parts)
      if (p == part) return true;
    return false;
  }
};

struct Program {
  std::string text, file;
  int line = 0;
  std::vector<Instr> code;
  int registers = 0, operands = 0;
  std::string bad;  // why it can not be run; found at the first execution, not before
};

enum Special { kLaneId, kWarpId, kTidX, kTidY, kTidZ, kCtaX, kCtaY, kCtaZ, kNtidX, kNtidY, kNtidZ, kNctaX, kNctaY, kNctaZ,
               kClock, kGlobalTimer, kSmId, kLaneMaskEq, kLaneMaskLt, kLaneMaskLe, kLaneMaskGt, kLaneMaskGe };

uint64_t special_value(int which);
Exec find_exec(Instr& instr);  // null for an instruction that is not known

uint64_t get(const Machine& m, const Operand& o);
void set(const Machine& m, const Operand& o, uint64_t v);

}  // namespace emu
