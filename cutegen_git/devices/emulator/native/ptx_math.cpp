// Arithmetic, logic, conversions and moves of inline PTX.
#include <cmath>
#include <cstring>

#include "ptx.h"
#include "ptx_ops.h"
#include "rt.h"

namespace emu {

float bits_float(uint64_t b) {
  auto w = static_cast<uint32_t>(b);
  float f;
  memcpy(&f, &w, 4);
  return f;
}
uint64_t float_bits(float f) {
  uint32_t w;
  memcpy(&w, &f, 4);
  return w;
}

namespace {
double bits_double(uint64_t b) {
  double d;
  memcpy(&d, &b, 8);
  return d;
}
uint64_t double_bits(double d) {
  uint64_t b;
  memcpy(&b, &d, 8);
  return b;
}

uint64_t mask_of(int bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }
int64_t as_signed(uint64_t v, int bits) { return bits >= 64 ? static_cast<int64_t>(v) : static_cast<int64_t>(v << (64 - bits)) >> (64 - bits); }
}  // namespace

double read_float(const PtxType& t, uint64_t b) {
  if (t.fp8) {
    uint32_t v = b & 255;
    if (t.fp8 == '5') {
      PtxType half;
      half.kind = 'f', half.bits = 16;
      return read_float(half, v << 8);
    }
    uint32_t e = v >> 3 & 15, m = v & 7;
    double x = e == 15 && m == 7 ? NAN : e ? ldexp(1 + m / 8.0, static_cast<int>(e) - 7) : ldexp(m, -9);
    return v & 128 ? -x : x;
  }
  if (t.bits == 64) return bits_double(b);
  if (t.tf32) return bits_float(b & 0xffffe000u);
  if (t.bits == 32) return bits_float(b);
  if (t.brain) return bits_float((b & 0xffff) << 16);
  auto h = static_cast<uint16_t>(b);
  _Float16 v;
  memcpy(&v, &h, 2);
  return static_cast<double>(v);
}

namespace {
// Rounds the bits of a float to `keep` mantissa bits; mode 'n' nearest even, 'z' towards zero, 'a' nearest, ties away.
uint32_t round_mantissa(float f, int drop, char mode) {
  auto w = static_cast<uint32_t>(float_bits(f));
  if ((w & 0x7f800000u) == 0x7f800000u) return (w & 0x7fffffu) ? 0x7fffffffu : w;
  uint32_t half = 1u << (drop - 1), low = w & ((1u << drop) - 1);
  w -= low;
  if (mode == 'n' && (low > half || (low == half && (w >> drop & 1)))) w += 1u << drop;
  if (mode == 'a' && low >= half) w += 1u << drop;
  return w;
}

uint32_t fp8_bits(double v, char kind) {
  // Saturates to the largest finite number, as cvt.satfinite does.
  uint32_t best = 0;
  double best_error = INFINITY;
  PtxType t;
  t.kind = 'f', t.bits = 8, t.fp8 = kind;
  if (v != v) return 0x7f;
  for (uint32_t c = 0; c < 128; ++c) {
    double x = read_float(t, c), e = fabs(x - fabs(v));
    if (!(x == x) || std::isinf(x)) continue;
    if (e < best_error || (e == best_error && !(c & 1))) best = c, best_error = e;
  }
  return best | (std::signbit(v) ? 128 : 0);
}
}  // namespace

uint64_t write_float(const PtxType& t, double v, char mode) {
  if (t.fp8) return fp8_bits(v, t.fp8);
  if (t.bits == 64) return double_bits(v);
  if (t.tf32) return round_mantissa(static_cast<float>(v), 13, mode);
  if (t.bits == 32) {
    auto f = static_cast<float>(v);
    if (mode == 'z' && fabs(static_cast<double>(f)) > fabs(v)) f = nextafterf(f, 0.0f);
    return float_bits(f);
  }
  if (t.brain) return round_mantissa(static_cast<float>(v), 16, mode) >> 16;
  auto h = static_cast<_Float16>(v);
  uint16_t w;
  memcpy(&w, &h, 2);
  if (mode == 'z' && fabs(static_cast<double>(h)) > fabs(v) && !std::isnan(v)) --w;
  return w;
}

namespace {
const PtxType& type_of(const Instr& in) { return in.types.back(); }

double float_op(const Instr& in, double a, double b, double c) {
  switch (in.sub) {
    case kAdd: return a + b;
    case kSub: return a - b;
    case kMul: return a * b;
    case kFma: return in.types.back().bits == 64 ? std::fma(a, b, c) : in.types.back().bits == 32 ? static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))) : a * b + c;
    case kDiv: return a / b;
    case kMin: return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b;
    case kMax: return std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b;
    case kAbs: return fabs(a);
    case kNeg: return -a;
    case kEx2: return exp2(a);
    case kLg2: return log2(a);
    case kSin: return sin(a);
    case kCos: return cos(a);
    case kTanh: return tanh(a);
    case kRcp: return 1 / a;
    case kRsqrt: return 1 / sqrt(a);
    case kSqrt: return sqrt(a);
    default: return NAN;
  }
}

void float_exec(Machine& m, const Instr& in) {
  const PtxType& t = type_of(in);
  uint64_t a = get(m, in.ops[1]), b = in.ops.size() > 2 ? get(m, in.ops[2]) : 0, c = in.ops.size() > 3 ? get(m, in.ops[3]) : 0;
  uint64_t out = 0;
  bool nan_wins = in.has("NaN"), relu = in.has("relu"), sat = in.has("sat"), ftz = in.has("ftz");
  for (int i = 0; i < t.lanes; ++i) {
    int s = i * t.bits;
    double x = read_float(t, a >> s), y = read_float(t, b >> s), z = read_float(t, c >> s);
    double v = float_op(in, x, y, z);
    if (nan_wins && (std::isnan(x) || std::isnan(y))) v = NAN;
    if (relu) v = v > 0 ? v : 0;
    if (sat) v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (ftz && t.bits == 32 && fabs(v) < 1.17549435e-38) v = std::copysign(0.0, v);
    out |= (write_float(t, v, in.has("rz") ? 'z' : 'n') & mask_of(t.bits)) << s;
  }
  set(m, in.ops[0], out);
}

uint64_t int_op(const Instr& in, uint64_t a, uint64_t b, uint64_t c) {
  const PtxType& t = type_of(in);
  bool sign = t.kind == 's';
  int64_t sa = as_signed(a, t.bits), sb = as_signed(b, t.bits);
  uint64_t ua = a & mask_of(t.bits), ub = b & mask_of(t.bits);
  unsigned __int128 wide = sign ? static_cast<unsigned __int128>(static_cast<__int128>(sa) * sb) : static_cast<unsigned __int128>(ua) * ub;
  uint64_t product = in.has("hi") ? static_cast<uint64_t>(wide >> t.bits) : static_cast<uint64_t>(wide);
  uint64_t shift = b & 0xffffffff;
  switch (in.sub) {
    case kAdd: return ua + ub;
    case kSub: return ua - ub;
    case kMul: return product;
    case kFma: return product + c;
    case kDiv: return ub == 0 ? ~0ull : sign ? static_cast<uint64_t>(sa / sb) : ua / ub;
    case kRem: return ub == 0 ? ua : sign ? static_cast<uint64_t>(sa % sb) : ua % ub;
    case kMin: return sign ? static_cast<uint64_t>(sa < sb ? sa : sb) : ua < ub ? ua : ub;
    case kMax: return sign ? static_cast<uint64_t>(sa > sb ? sa : sb) : ua > ub ? ua : ub;
    case kAbs: return static_cast<uint64_t>(sa < 0 ? -sa : sa);
    case kNeg: return static_cast<uint64_t>(-sa);
    case kAnd: return a & b;
    case kOr: return a | b;
    case kXor: return a ^ b;
    case kNot: return t.kind == 'p' ? !(a & 1) : ~a;
    case kShl: return shift >= static_cast<uint64_t>(t.bits) ? 0 : ua << shift;
    case kShr: return sign ? static_cast<uint64_t>(sa >> (shift >= 63 ? 63 : shift)) : shift >= static_cast<uint64_t>(t.bits) ? 0 : ua >> shift;
    case kPopc: return static_cast<uint64_t>(__builtin_popcountll(ua));
    case kClz: return ua ? static_cast<uint64_t>(__builtin_clzll(ua) - (64 - t.bits)) : static_cast<uint64_t>(t.bits);
    default: return 0;
  }
}

void int_exec(Machine& m, const Instr& in) {
  const PtxType& t = type_of(in);
  uint64_t v = int_op(in, get(m, in.ops[1]), in.ops.size() > 2 ? get(m, in.ops[2]) : 0, in.ops.size() > 3 ? get(m, in.ops[3]) : 0);
  int out_bits = in.has("wide") ? 2 * t.bits : (in.sub == kPopc || in.sub == kClz) ? 32 : t.kind == 'p' ? 1 : t.bits;
  set(m, in.ops[0], v & mask_of(out_bits));
}

void either_exec(Machine& m, const Instr& in) {
  if (type_of(in).kind == 'f') float_exec(m, in);
  else int_exec(m, in);
}

void mov_exec(Machine& m, const Instr& in) {
  const Operand &to = in.ops[0], &from = in.ops[1];
  if (to.kind == Operand::vec) {
    uint64_t v = get(m, from);
    int each = type_of(in).bits / static_cast<int>(to.parts.size());
    for (size_t i = 0; i < to.parts.size(); ++i) set(m, to.parts[i], v >> (each * i) & mask_of(each));
  } else if (from.kind == Operand::vec) {
    uint64_t v = 0;
    int each = type_of(in).bits / static_cast<int>(from.parts.size());
    for (size_t i = 0; i < from.parts.size(); ++i) v |= (get(m, from.parts[i]) & mask_of(each)) << (each * i);
    set(m, to, v);
  } else {
    set(m, to, get(m, from) & mask_of(type_of(in).kind == 'p' ? 1 : type_of(in).bits));
  }
}

void selp_exec(Machine& m, const Instr& in) { set(m, in.ops[0], get(m, in.ops[3]) & 1 ? get(m, in.ops[1]) : get(m, in.ops[2])); }

bool compare(const PtxType& t, const std::string& how, uint64_t a, uint64_t b) {
  if (t.kind == 'f') {
    double x = read_float(t, a), y = read_float(t, b);
    bool unordered = std::isnan(x) || std::isnan(y);
    if (how == "num") return !unordered;
    if (how == "nan") return unordered;
    if (how.size() == 3) return unordered || compare(t, how.substr(0, 2), a, b);
    return how == "eq" ? x == y : how == "ne" ? !unordered && x != y : how == "lt" ? x < y : how == "le" ? x <= y : how == "gt" ? x > y : x >= y;
  }
  uint64_t ua = a & mask_of(t.bits), ub = b & mask_of(t.bits);
  if (how == "eq") return ua == ub;
  if (how == "ne") return ua != ub;
  if (t.kind == 's') {
    int64_t x = as_signed(a, t.bits), y = as_signed(b, t.bits);
    return how == "lt" ? x < y : how == "le" ? x <= y : how == "gt" ? x > y : x >= y;
  }
  return how == "lt" || how == "lo" ? ua < ub : how == "le" || how == "ls" ? ua <= ub : how == "gt" || how == "hi" ? ua > ub : ua >= ub;
}

void setp_exec(Machine& m, const Instr& in) {
  bool v = compare(type_of(in), in.parts[1], get(m, in.ops[1]), get(m, in.ops[2])), other = !v;
  if (in.ops.size() > 3) {
    bool c = get(m, in.ops[3]) & 1;
    bool both[2] = {v, other};
    for (bool& x : both) x = in.has("and") ? x && c : in.has("or") ? x || c : x != c;
    v = both[0], other = both[1];
  }
  set(m, in.ops[0], v);
  if (in.ops[0].second >= 0) m.r[in.ops[0].second] = other;
}

uint64_t to_integer(const PtxType& t, double v, const Instr& in) {
  v = in.has("rni") ? nearbyint(v) : in.has("rmi") ? floor(v) : in.has("rpi") ? ceil(v) : trunc(v);
  if (std::isnan(v)) return 0;
  double lo = t.kind == 's' ? -ldexp(1, t.bits - 1) : 0, hi = ldexp(1, t.kind == 's' ? t.bits - 1 : t.bits);
  if (v <= lo) return t.kind == 's' ? 1ull << (t.bits - 1) : 0;
  if (v >= hi) return t.kind == 's' ? mask_of(t.bits - 1) : mask_of(t.bits);
  return (t.kind == 's' ? static_cast<uint64_t>(static_cast<int64_t>(v)) : static_cast<uint64_t>(v)) & mask_of(t.bits);
}

char rounding(const Instr& in) { return in.has("rz") ? 'z' : in.has("rna") ? 'a' : 'n'; }

// cvt.rn.f16x2.f32 d, a, b: b goes to the lower half.
void cvt_pack_exec(Machine& m, const Instr& in) {
  const PtxType &to = in.types[0], &from = in.types[1];
  double hi = read_float(from, get(m, in.ops[1])), lo = read_float(from, get(m, in.ops[2]));
  if (in.has("relu")) hi = hi > 0 ? hi : 0, lo = lo > 0 ? lo : 0;
  set(m, in.ops[0], (write_float(to, hi, rounding(in)) & mask_of(to.bits)) << to.bits | (write_float(to, lo, rounding(in)) & mask_of(to.bits)));
}

void cvt_exec(Machine& m, const Instr& in) {
  const PtxType &to = in.types[0], &from = in.types[1];
  uint64_t a = get(m, in.ops[1]);
  if (to.lanes == 2) {  // f16x2 and fp8 pairs, element by element
    uint64_t out = 0;
    for (int i = 0; i < 2; ++i) out |= (write_float(to, read_float(from, a >> (i * from.bits)), rounding(in)) & mask_of(to.bits)) << (i * to.bits);
    set(m, in.ops[0], out);
    return;
  }
  if (from.kind == 'f' && to.kind == 'f') {
    double v = read_float(from, a);
    bool whole = in.has("rni") || in.has("rzi") || in.has("rmi") || in.has("rpi");
    if (whole) v = in.has("rni") ? nearbyint(v) : in.has("rzi") ? trunc(v) : in.has("rmi") ? floor(v) : ceil(v);
    if (in.has("sat")) v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (in.has("relu")) v = v > 0 ? v : 0;
    set(m, in.ops[0], write_float(to, v, rounding(in)));
  } else if (from.kind == 'f') {
    set(m, in.ops[0], to_integer(to, read_float(from, a), in));
  } else {
    int64_t s = as_signed(a, from.bits);
    uint64_t u = a & mask_of(from.bits);
    if (to.kind == 'f') {
      double v = from.kind == 's' ? static_cast<double>(s) : static_cast<double>(u);
      set(m, in.ops[0], write_float(to, v, rounding(in)));
    } else if (in.has("sat")) {
      double v = from.kind == 's' ? static_cast<double>(s) : static_cast<double>(u);
      set(m, in.ops[0], to_integer(to, v, in));
    } else {
      set(m, in.ops[0], (from.kind == 's' ? static_cast<uint64_t>(s) : u) & mask_of(to.bits));
    }
  }
}

void lop3_exec(Machine& m, const Instr& in) {
  uint64_t a = get(m, in.ops[1]), b = get(m, in.ops[2]), c = get(m, in.ops[3]), table = get(m, in.ops[4]), out = 0;
  for (int i = 0; i < 32; ++i) {
    unsigned at = static_cast<unsigned>((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1));
    out |= (table >> at & 1) << i;
  }
  set(m, in.ops[0], out);
}

void prmt_exec(Machine& m, const Instr& in) {
  uint64_t both = (get(m, in.ops[2]) & 0xffffffff) << 32 | (get(m, in.ops[1]) & 0xffffffff), sel = get(m, in.ops[3]), out = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned s = sel >> (4 * i) & 15;
    uint64_t byte = both >> (8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  set(m, in.ops[0], out);
}

void bfe_exec(Machine& m, const Instr& in) {
  const PtxType& t = type_of(in);
  uint64_t a = get(m, in.ops[1]) & mask_of(t.bits);
  unsigned at = get(m, in.ops[2]) & 255, n = get(m, in.ops[3]) & 255;
  uint64_t v = at >= 64 || n == 0 ? 0 : a >> at & mask_of(static_cast<int>(n));
  if (t.kind == 's' && n && n < 64 && (v >> (n - 1) & 1)) v |= ~mask_of(static_cast<int>(n));
  set(m, in.ops[0], v & mask_of(t.bits));
}

void bfi_exec(Machine& m, const Instr& in) {
  uint64_t a = get(m, in.ops[1]), b = get(m, in.ops[2]);
  unsigned at = get(m, in.ops[3]) & 255, n = get(m, in.ops[4]) & 255;
  uint64_t mask = at >= 64 ? 0 : mask_of(static_cast<int>(n)) << at;
  set(m, in.ops[0], ((b & ~mask) | (at >= 64 ? 0 : a << at & mask)) & mask_of(type_of(in).bits));
}

void brev_exec(Machine& m, const Instr& in) {
  uint64_t a = get(m, in.ops[1]), out = 0;
  int n = type_of(in).bits;
  for (int i = 0; i < n; ++i) out |= (a >> i & 1) << (n - 1 - i);
  set(m, in.ops[0], out);
}

void dp4a_exec(Machine& m, const Instr& in) {
  uint64_t a = get(m, in.ops[1]), b = get(m, in.ops[2]);
  auto sum = static_cast<uint32_t>(get(m, in.ops[3]));
  for (int i = 0; i < 4; ++i) {
    int x = in.types[0].kind == 's' ? static_cast<int8_t>(a >> (8 * i)) : static_cast<int>(a >> (8 * i) & 255);
    int y = in.types[1].kind == 's' ? static_cast<int8_t>(b >> (8 * i)) : static_cast<int>(b >> (8 * i) & 255);
    sum += static_cast<uint32_t>(x * y);
  }
  set(m, in.ops[0], sum);
}

void shf_exec(Machine& m, const Instr& in) {
  uint64_t both = (get(m, in.ops[2]) & 0xffffffff) << 32 | (get(m, in.ops[1]) & 0xffffffff);
  uint64_t n = get(m, in.ops[3]) & 0xffffffff;
  n = in.has("clamp") ? (n > 32 ? 32 : n) : n & 31;
  set(m, in.ops[0], in.has("l") ? (both << n) >> 32 & 0xffffffff : both >> n & 0xffffffff);
}

void policy_exec(Machine& m, const Instr& in) { set(m, in.ops[0], 0x1000000000000000ull); }
}  // namespace

Exec find_math(Instr& in) {
  const struct {
    const char* name;
    int sub;
    size_t operands;
    Exec exec;
  } table[] = {{"add", kAdd, 3, either_exec}, {"sub", kSub, 3, either_exec}, {"mul", kMul, 3, either_exec}, {"mad", kFma, 4, either_exec},
               {"fma", kFma, 4, float_exec}, {"div", kDiv, 3, either_exec}, {"rem", kRem, 3, int_exec}, {"min", kMin, 3, either_exec},
               {"max", kMax, 3, either_exec}, {"abs", kAbs, 2, either_exec}, {"neg", kNeg, 2, either_exec}, {"ex2", kEx2, 2, float_exec},
               {"lg2", kLg2, 2, float_exec}, {"sin", kSin, 2, float_exec}, {"cos", kCos, 2, float_exec}, {"tanh", kTanh, 2, float_exec},
               {"rcp", kRcp, 2, float_exec}, {"rsqrt", kRsqrt, 2, float_exec}, {"sqrt", kSqrt, 2, float_exec}, {"and", kAnd, 3, int_exec},
               {"or", kOr, 3, int_exec}, {"xor", kXor, 3, int_exec}, {"not", kNot, 2, int_exec}, {"shl", kShl, 3, int_exec},
               {"shr", kShr, 3, int_exec}, {"popc", kPopc, 2, int_exec}, {"clz", kClz, 2, int_exec}, {"mov", 0, 2, mov_exec},
               {"selp", 0, 4, selp_exec}, {"setp", 0, 3, setp_exec}, {"lop3", 0, 5, lop3_exec}, {"prmt", 0, 4, prmt_exec},
               {"bfe", 0, 4, bfe_exec}, {"bfi", 0, 5, bfi_exec}, {"brev", 0, 2, brev_exec}, {"dp4a", 0, 4, dp4a_exec},
               {"shf", 0, 4, shf_exec}, {"createpolicy", 0, 1, policy_exec}};
  if (in.parts[0] == "cvt") return in.types.size() == 2 && in.ops.size() >= 2 ? (in.ops.size() == 3 ? cvt_pack_exec : cvt_exec) : nullptr;
  for (const auto& row : table) {
    if (in.parts[0] != row.name) continue;
    bool typed = !in.types.empty() || row.exec == policy_exec;
    if (!typed || in.ops.size() < row.operands || in.has("cc") || (in.parts[0] == "prmt" && in.parts.size() > 2)) return nullptr;
    if (in.has("rm") || in.has("rp")) return nullptr;
    in.sub = row.sub;
    return row.exec;
  }
  return nullptr;
}

}  // namespace emu
