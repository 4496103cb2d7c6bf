// Loads, stores, atomics and cp.async of inline PTX.
#include <cstring>

#include "ptx.h"
#include "ptx_ops.h"
#include "rt.h"
#include "warp.h"

namespace emu {

namespace {
uint64_t raw_address(const Machine& m, const Operand& o) {
  uint64_t base = get(m, o.parts[0]) + static_cast<uint64_t>(o.offset);
  return o.parts.size() > 1 ? base + get(m, o.parts[1]) : base;
}

bool in_shared(const Instr& in) {
  for (const auto& p : in.parts)
    if (p.compare(0, 6, "shared") == 0) return true;
  return false;
}

uintptr_t address(const Machine& m, const Instr& in, const Operand& o, uint32_t bytes) {
  uint64_t raw = raw_address(m, o);
  if (!in_shared(in)) return raw;
  return shared_pointer(static_cast<uint32_t>(raw), bytes, m.pc);
}

uint64_t extend(const PtxType& t, uint64_t v) {
  if (t.kind != 's' || t.bits >= 64) return v;
  auto s = static_cast<int64_t>(v << (64 - t.bits)) >> (64 - t.bits);
  return t.bits < 32 ? static_cast<uint32_t>(s) : static_cast<uint64_t>(s) & 0xffffffff;
}

int vector_width(const Instr& in) { return in.has("v4") ? 4 : in.has("v2") ? 2 : in.has("v8") ? 8 : 1; }

void volatile_step(const Instr& in, uintptr_t addr, uintptr_t pc) {
  if (in.has("volatile") || in.has("acquire") || in.has("relaxed") || in.has("mmio")) count_spin(addr, pc);
}

void ld_exec(Machine& m, const Instr& in) {
  int n = vector_width(in), each = in.types.back().bits / 8;
  uintptr_t p = address(m, in, in.ops[1], static_cast<uint32_t>(n * each));
  check_align(p, static_cast<uint32_t>(n * each), "ld", m.pc);
  volatile_step(in, p, m.pc);
  access(p, static_cast<uint32_t>(n * each), false, m.pc);
  for (int i = 0; i < n; ++i) {
    uint64_t v = 0;
    memcpy(&v, reinterpret_cast<void*>(p + static_cast<uintptr_t>(i * each)), static_cast<size_t>(each));
    set(m, n > 1 || in.ops[0].kind == Operand::vec ? in.ops[0].parts[static_cast<size_t>(i)] : in.ops[0], extend(in.types.back(), v));
  }
}

void st_exec(Machine& m, const Instr& in) {
  int n = vector_width(in), each = in.types.back().bits / 8;
  uintptr_t p = address(m, in, in.ops[0], static_cast<uint32_t>(n * each));
  check_align(p, static_cast<uint32_t>(n * each), "st", m.pc);
  if (in.has("release")) fence();
  access(p, static_cast<uint32_t>(n * each), true, m.pc);
  for (int i = 0; i < n; ++i) {
    uint64_t v = get(m, n > 1 || in.ops[1].kind == Operand::vec ? in.ops[1].parts[static_cast<size_t>(i)] : in.ops[1]);
    memcpy(reinterpret_cast<void*>(p + static_cast<uintptr_t>(i * each)), &v, static_cast<size_t>(each));
  }
}

uint64_t combine(const Instr& in, const PtxType& t, uint64_t old, uint64_t b, uint64_t c) {
  if (in.has("exch")) return b;
  if (in.has("cas")) return old == b ? c : old;
  if (in.has("inc")) return old >= b ? 0 : old + 1;
  if (in.has("dec")) return old == 0 || old > b ? b : old - 1;
  if (in.has("and")) return old & b;
  if (in.has("or")) return old | b;
  if (in.has("xor")) return old ^ b;
  uint64_t out = 0;
  uint64_t mask = t.bits >= 64 ? ~0ull : (1ull << t.bits) - 1;
  for (int i = 0; i < t.lanes; ++i) {
    int s = i * t.bits;
    uint64_t x = old >> s & mask, y = b >> s & mask, v;
    if (t.kind == 'f') {
      double fx = read_float(t, x), fy = read_float(t, y);
      v = write_float(t, in.has("min") ? (fx < fy ? fx : fy) : in.has("max") ? (fx > fy ? fx : fy) : fx + fy, 'n');
    } else {
      int shift = 64 - t.bits;
      auto sx = static_cast<int64_t>(x << shift) >> shift, sy = static_cast<int64_t>(y << shift) >> shift;
      bool less = t.kind == 's' ? sx < sy : x < y;
      v = in.has("add") ? x + y : in.has("min") ? (less ? x : y) : (less ? y : x);
    }
    out |= (v & mask) << s;
  }
  return out;
}

void atom_one(Machine& m, const Instr& in, uintptr_t p, const Operand* result, const Operand& b, const Operand* c) {
  const PtxType& t = in.types.back();
  size_t bytes = static_cast<size_t>(t.bits * t.lanes / 8);
  atomic_begin(reinterpret_cast<void*>(p), static_cast<unsigned>(bytes), static_cast<unsigned>(bytes), reinterpret_cast<void*>(m.pc));
  uint64_t old = 0;
  memcpy(&old, reinterpret_cast<void*>(p), bytes);
  uint64_t now = combine(in, t, old, get(m, b), c ? get(m, *c) : 0);
  memcpy(reinterpret_cast<void*>(p), &now, bytes);
  if (result) set(m, *result, old);
}

void atom_exec(Machine& m, const Instr& in) {
  bool red = in.parts[0] == "red";
  size_t at = red ? 0 : 1;
  const PtxType& t = in.types.back();
  int n = vector_width(in), each = t.bits * t.lanes / 8;
  uintptr_t p = address(m, in, in.ops[at], static_cast<uint32_t>(n * each));
  for (int i = 0; i < n; ++i) {
    const Operand& b = n > 1 ? in.ops[at + 1].parts[static_cast<size_t>(i)] : in.ops[at + 1];
    const Operand* r = red ? nullptr : n > 1 ? &in.ops[0].parts[static_cast<size_t>(i)] : &in.ops[0];
    const Operand* c = !red && in.ops.size() > 3 && in.has("cas") ? &in.ops[3] : nullptr;
    atom_one(m, in, p + static_cast<uintptr_t>(i * each), r, b, c);
  }
}

// cp.async.ca.shared.global [dst], [src], size{, src-size or ignore-src}{, policy}
void cp_async_exec(Machine& m, const Instr& in) {
  auto dst = static_cast<uint32_t>(raw_address(m, in.ops[0]));
  uintptr_t src = raw_address(m, in.ops[1]);
  auto bytes = static_cast<uint32_t>(get(m, in.ops[2]));
  uint32_t copied = bytes;
  bool hint = false;
  for (const auto& p : in.parts) hint |= p.find("cache_hint") != std::string::npos;
  if (in.ops.size() > (hint ? 4u : 3u)) copied = in.sub ? (get(m, in.ops[3]) & 1 ? 0 : bytes) : static_cast<uint32_t>(get(m, in.ops[3]));
  bool size_ok = bytes == 16 || (in.has("ca") && (bytes == 4 || bytes == 8));
  if (!size_ok || copied > bytes) {
    report("cp.async-size", Severity::veto, m.pc, 0, "", -1, "cp.async of %u bytes, %u of them from the source", bytes, copied);
    stop("stopped", "cp.async size");
  }
  cp_async_issue(dst, src, bytes, copied, m.pc);
}
void commit_exec(Machine&, const Instr&) { hot.fiber->committed++; }
void wait_exec(Machine& m, const Instr& in) { cp_async_wait(in.ops.empty() ? -1 : static_cast<int>(get(m, in.ops[0]))); }
void nothing(Machine&, const Instr&) {}
void fence_exec(Machine&, const Instr& in) {
  if (!in.has("cta")) fence();
}

void cvta_exec(Machine& m, const Instr& in) {
  uint64_t v = get(m, in.ops[1]);
  if (in_shared(in)) v = in.has("to") ? to_shared(reinterpret_cast<void*>(v)) : kArenaBase + v;
  set(m, in.ops[0], v);
}

void isspace_exec(Machine& m, const Instr& in) {
  uint64_t a = get(m, in.ops[1]);
  set(m, in.ops[0], in_shared(in) ? a - kArenaBase < kArenaBytes : a - kGlobalBase < kGlobalSpan);
}

Exec find_cp(Instr& in) {
  if (in.parts.size() < 3 || in.parts[1] != "async") return nullptr;
  if (in.parts[2] == "commit_group") return commit_exec;
  if (in.parts[2] == "wait_group" || in.parts[2] == "wait_all") return wait_exec;
  if (in.parts[2] != "ca" && in.parts[2] != "cg") return nullptr;
  if (in.ops.size() < 3 || in.ops.size() > 5 || in.ops[0].kind != Operand::mem || in.ops[1].kind != Operand::mem) return nullptr;
  return cp_async_exec;
}
}  // namespace

Exec find_memory(Instr& in) {
  const std::string& name = in.parts[0];
  bool cluster = in.has("cluster") || in.has("shared-cluster");
  if (name == "cp") return find_cp(in);
  if (name == "prefetch" || name == "prefetchu" || name == "applypriority" || name == "discard") return nothing;
  if (name == "fence" || name == "membar") return cluster || in.has("proxy") ? nullptr : fence_exec;
  if (name == "cvta") return cluster ? nullptr : cvta_exec;
  if (name == "isspacep") return cluster ? nullptr : isspace_exec;
  if (cluster || in.types.empty()) return nullptr;
  if ((name == "ld" || name == "ldu") && in.ops.size() >= 2 && in.ops[1].kind == Operand::mem) return ld_exec;
  if (name == "st" && in.ops.size() >= 2 && in.ops[0].kind == Operand::mem && !in.has("async")) return st_exec;
  if (name == "atom" && in.ops.size() >= 3 && in.ops[1].kind == Operand::mem) return atom_exec;
  if (name == "red" && in.ops.size() >= 2 && in.ops[0].kind == Operand::mem && !in.has("async")) return atom_exec;
  return nullptr;
}

}  // namespace emu
