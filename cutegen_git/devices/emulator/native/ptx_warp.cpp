// Instructions that a whole warp or block executes: mma, ldmatrix, movmatrix, shuffles, votes, barriers.
#include <cstring>

#include "ptx.h"
#include "ptx_ops.h"
#include "rt.h"
#include "warp.h"

#include <cuda_runtime.h>
extern "C" {
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
}

namespace emu {

uint64_t special_value(int which) {
  uint32_t lane = static_cast<uint32_t>(hot.fiber->lane);
  const uint32_t eq = 1u << lane;
  switch (which) {
    case kLaneId: return lane;
    case kWarpId: return static_cast<uint32_t>(hot.fiber->warp);
    case kTidX: return threadIdx.x;
    case kTidY: return threadIdx.y;
    case kTidZ: return threadIdx.z;
    case kCtaX: return blockIdx.x;
    case kCtaY: return blockIdx.y;
    case kCtaZ: return blockIdx.z;
    case kNtidX: return blockDim.x;
    case kNtidY: return blockDim.y;
    case kNtidZ: return blockDim.z;
    case kNctaX: return gridDim.x;
    case kNctaY: return gridDim.y;
    case kNctaZ: return gridDim.z;
    case kClock: case kGlobalTimer: return static_cast<uint64_t>(clock_now());
    case kLaneMaskEq: return eq;
    case kLaneMaskLt: return eq - 1;
    case kLaneMaskLe: return (eq - 1) | eq;
    case kLaneMaskGt: return ~((eq - 1) | eq) & 0xffffffff;
    case kLaneMaskGe: return ~(eq - 1) & 0xffffffff;
    default: return 0;
  }
}

uint64_t get(const Machine& m, const Operand& o) {
  uint64_t v = 0;
  if (o.kind == Operand::reg) v = m.r[o.index];
  else if (o.kind == Operand::imm) v = o.value;
  else if (o.kind == Operand::special) v = special_value(o.index);
  else if (o.kind == Operand::vec && o.parts.size() == 1) v = get(m, o.parts[0]);
  return o.negated ? !(v & 1) : v;
}
void set(const Machine& m, const Operand& o, uint64_t v) {
  if (o.kind == Operand::reg) m.r[o.index] = v;
  else if (o.kind == Operand::vec && o.parts.size() == 1) set(m, o.parts[0], v);
}

namespace {
struct Matrices {
  uintptr_t row;  // where this lane's row begins
  int count;
  bool transposed;
  uint32_t out[4];
  uintptr_t pc;
};

// The rows are read by the lanes that name them, so findings carry the right thread.
void read_rows(Warp&, uint32_t mask, Fiber* lanes, uint16_t rows[4][8][8]) {
  Fiber* last = hot.fiber;
  int count = static_cast<Matrices*>(lanes[__builtin_ctz(mask)].payload)->count;
  for (int lane = 0; lane < 8 * count; ++lane) {
    const auto& x = *static_cast<Matrices*>(lanes[lane].payload);
    hot.fiber = &lanes[lane];
    refresh_stamp();
    check_align(x.row, 16, "ldmatrix", x.pc);
    access(x.row, 16, false, x.pc);
    memcpy(rows[lane / 8][lane % 8], reinterpret_cast<void*>(x.row), 16);
  }
  hot.fiber = last;
  refresh_stamp();
}

void do_ldmatrix(Warp& w, uint32_t mask, Fiber* lanes) {
  if (mask != ~0u) {
    report("partial-warp", Severity::veto, lanes[__builtin_ctz(mask)].pc, 0, "", -1, "ldmatrix by lanes 0x%08x only", mask);
    stop("stopped", "partial warp");
  }
  uint16_t rows[4][8][8];
  read_rows(w, mask, lanes, rows);
  for (int lane = 0; lane < 32; ++lane) {
    auto& x = *static_cast<Matrices*>(lanes[lane].payload);
    int r = lane / 4, c = 2 * (lane % 4);
    for (int i = 0; i < x.count; ++i) {
      uint32_t lo = x.transposed ? rows[i][c][r] : rows[i][r][c], hi = x.transposed ? rows[i][c + 1][r] : rows[i][r][c + 1];
      x.out[i] = lo | hi << 16;
    }
  }
}

void ldmatrix_exec(Machine& m, const Instr& in) {
  const Operand& o = in.ops[1];
  uint64_t raw = get(m, o.parts[0]) + static_cast<uint64_t>(o.offset) + (o.parts.size() > 1 ? get(m, o.parts[1]) : 0);
  bool handle = in.has("shared") || in.has("shared-cta");
  Matrices x{handle ? 0 : raw, in.sub, in.has("trans"), {}, m.pc};
  bool named = hot.fiber->lane < 8 * in.sub;
  if (handle) x.row = named ? shared_pointer(static_cast<uint32_t>(raw), 16, m.pc) : 0;
  else if (named && raw - kArenaBase >= kArenaBytes) to_shared(reinterpret_cast<void*>(raw));
  collective(kLdmatrix + 64 * in.sub + (x.transposed ? 512 : 0), ~0u, &x, do_ldmatrix, m.pc, "ldmatrix");
  if (in.ops[0].kind != Operand::vec) return set(m, in.ops[0], x.out[0]);
  for (int i = 0; i < in.sub; ++i) set(m, in.ops[0].parts[static_cast<size_t>(i)], x.out[i]);
}

void do_movmatrix(Warp&, uint32_t mask, Fiber* lanes) {
  uint16_t a[8][8];
  if (mask != ~0u) stop("stopped", "partial warp");
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t v = static_cast<Matrices*>(lanes[lane].payload)->out[0];
    a[lane / 4][2 * (lane % 4)] = static_cast<uint16_t>(v), a[lane / 4][2 * (lane % 4) + 1] = static_cast<uint16_t>(v >> 16);
  }
  for (int lane = 0; lane < 32; ++lane) {
    int r = lane / 4, c = 2 * (lane % 4);
    static_cast<Matrices*>(lanes[lane].payload)->out[0] = a[c][r] | static_cast<uint32_t>(a[c + 1][r]) << 16;
  }
}

void movmatrix_exec(Machine& m, const Instr& in) {
  Matrices x{0, 1, true, {static_cast<uint32_t>(get(m, in.ops[1]))}, m.pc};
  collective(kMovmatrix, ~0u, &x, do_movmatrix, m.pc, "movmatrix");
  set(m, in.ops[0], x.out[0]);
}

void gather(const Machine& m, const Operand& o, bool f64, uint32_t* to) {
  size_t n = o.kind == Operand::vec ? o.parts.size() : 1;
  for (size_t i = 0; i < n; ++i) {
    uint64_t v = get(m, o.kind == Operand::vec ? o.parts[i] : o);
    if (f64) memcpy(to + 2 * i, &v, 8);
    else to[i] = static_cast<uint32_t>(v);
  }
}

void mma_exec(Machine& m, const Instr& in) {
  uint32_t frag[40];
  bool f64 = mma_is_f64(in.plan);
  int at = 0;
  for (int i = 0; i < 3; ++i) {
    gather(m, in.ops[static_cast<size_t>(i + 1)], f64, frag + at);
    at += mma_regs(in.plan, i);
  }
  mma_run(in.plan, frag, m.pc);
  const Operand& d = in.ops[0];
  size_t n = d.kind == Operand::vec ? d.parts.size() : 1;
  for (size_t i = 0; i < n; ++i) {
    uint64_t v = 0;
    if (f64) memcpy(&v, frag + at + 2 * static_cast<int>(i), 8);
    else v = frag[at + static_cast<int>(i)];
    set(m, d.kind == Operand::vec ? d.parts[i] : d, v);
  }
}

int count_regs(const Operand& o) { return o.kind == Operand::vec ? static_cast<int>(o.parts.size()) : 1; }

Exec find_mma(Instr& in) {
  if (in.parts.size() < 3 || in.parts[1] != "sync" || in.ops.size() != 4 || !mma_prepare(in.opcode.c_str(), &in.plan)) return nullptr;
  int scale = mma_is_f64(in.plan) ? 2 : 1;
  const int order[4] = {1, 2, 3, 0};
  for (int i = 0; i < 4; ++i)
    if (count_regs(in.ops[static_cast<size_t>(order[i])]) * scale != mma_regs(in.plan, i)) return nullptr;
  return mma_exec;
}

void shfl_exec(Machine& m, const Instr& in) {
  uint64_t v = get(m, in.ops[1]), c = get(m, in.ops[3]);
  int width = 32 - static_cast<int>(c >> 8 & 31);
  bool valid = shuffle_at(in.ops.size() > 4 ? static_cast<unsigned>(get(m, in.ops[4])) : ~0u, in.sub, static_cast<int>(get(m, in.ops[2])), width, &v, m.pc);
  set(m, in.ops[0], v);
  if (in.ops[0].second >= 0) m.r[in.ops[0].second] = valid;
}

void vote_exec(Machine& m, const Instr& in) {
  auto mask = in.ops.size() > 2 ? static_cast<unsigned>(get(m, in.ops[2])) : ~0u;
  uint64_t bits = vote_at(mask, in.has("all") ? 1 : in.has("uni") ? 2 : 0, get(m, in.ops[1]) & 1, m.pc);
  set(m, in.ops[0], in.has("any") ? bits != 0 : bits);
}

void match_exec(Machine& m, const Instr& in) {
  uint64_t v = in.types.back().bits == 64 ? get(m, in.ops[1]) : get(m, in.ops[1]) & 0xffffffff;
  uint64_t bits = vote_at(static_cast<unsigned>(get(m, in.ops[2])), in.has("all") ? 4 : 3, v, m.pc);
  set(m, in.ops[0], bits);
  if (in.ops[0].second >= 0) m.r[in.ops[0].second] = bits != 0;
}

void redux_exec(Machine& m, const Instr& in) {
  set(m, in.ops[0], reduce_at(static_cast<unsigned>(get(m, in.ops[2])), in.sub, get(m, in.ops[1]) & 0xffffffff, m.pc));
}

int redux_op(const Instr& in) {
  bool s = in.types.back().kind == 's';
  if (in.has("add")) return 0;
  if (in.has("min")) return s ? 2 : 1;
  if (in.has("max")) return s ? 4 : 3;
  return in.has("and") ? 5 : in.has("or") ? 6 : 7;
}

void bar_exec(Machine& m, const Instr& in) {
  int id = in.ops.empty() ? 0 : static_cast<int>(get(m, in.ops[0]));
  int count = in.ops.size() > 1 ? static_cast<int>(get(m, in.ops[1])) : 0;
  barrier(id, count, !in.has("arrive"), m.pc, nullptr, 0);
}
void syncwarp_exec(Machine& m, const Instr& in) { sync_warp_at(static_cast<unsigned>(get(m, in.ops[0])), m.pc); }
void activemask_exec(Machine& m, const Instr& in) { set(m, in.ops[0], soft_sync(m.pc)); }
void nothing(Machine&, const Instr&) {}
void trap_exec(Machine& m, const Instr& in) {
  report("trap", Severity::veto, m.pc, 0, "", -1, "%s was reached", in.opcode.c_str());
  stop("stopped", "trap");
}

int shuffle_mode(const Instr& in) { return in.has("idx") ? 0 : in.has("up") ? 1 : in.has("down") ? 2 : in.has("bfly") ? 3 : -1; }
}  // namespace

Exec find_warp(Instr& in) {
  const std::string& name = in.parts[0];
  size_t n = in.ops.size();
  if (name == "mma") return find_mma(in);
  if (name == "ldmatrix" && n == 2 && in.ops[1].kind == Operand::mem && in.has("m8n8") && in.has("b16")) {
    in.sub = in.has("x4") ? 4 : in.has("x2") ? 2 : 1;
    return count_regs(in.ops[0]) == in.sub ? ldmatrix_exec : nullptr;
  }
  if (name == "movmatrix" && n == 2 && in.has("trans")) return movmatrix_exec;
  if (name == "shfl" && n >= 4 && (in.sub = shuffle_mode(in)) >= 0) return shfl_exec;
  if (name == "vote" && n >= 2) return vote_exec;
  if (name == "match" && n == 3) return match_exec;
  if (name == "redux" && n == 3 && in.types.back().kind != 'f') return in.sub = redux_op(in), redux_exec;
  if (name == "bar" && in.has("warp")) return n == 1 ? syncwarp_exec : nullptr;
  if ((name == "bar" || name == "barrier") && !in.has("red") && !in.has("cluster")) return bar_exec;
  if (name == "activemask" && n == 1) return activemask_exec;
  if (name == "nanosleep") return nothing;
  if (name == "trap" || name == "brkpt") return trap_exec;
  return nullptr;
}

Exec find_exec(Instr& in) {
  if (Exec e = find_warp(in)) return e;
  if (Exec e = find_memory(in)) return e;
  return find_math(in);
}

}  // namespace emu
