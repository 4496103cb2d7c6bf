// mma.sync: one fragment rule serves every shape with 32 / bits elements per register; sm_70's quad pairs have their own.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rt.h"
#include "warp.h"

namespace emu {

namespace {
enum class Type : uint8_t { f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, s32 };

struct Plan {
  int m, n, k;
  Type a, b, c, d;
  bool a_row, b_col, saturate, bit_and, quad_pair;
  int regs_a, regs_b, regs_c, regs_d;  // 32-bit registers
};

struct Payload {
  uint32_t* frag;  // a, b, c and room for d, one after another
  const Plan* plan;
};

int bits_of(Type t) {
  switch (t) {
    case Type::b1: return 1;
    case Type::s4: case Type::u4: return 4;
    case Type::s8: case Type::u8: case Type::e4m3: case Type::e5m2: return 8;
    case Type::f16: case Type::bf16: return 16;
    case Type::f64: return 64;
    default: return 32;
  }
}
bool is_integer(Type t) { return t == Type::s8 || t == Type::u8 || t == Type::s4 || t == Type::u4 || t == Type::b1; }

float half_to_float(uint16_t h) {
  _Float16 v;
  memcpy(&v, &h, 2);
  return static_cast<float>(v);
}
uint16_t float_to_half(float f) {
  auto v = static_cast<_Float16>(f);
  uint16_t h;
  memcpy(&h, &v, 2);
  return h;
}
float bits_to_float(uint32_t b) {
  float f;
  memcpy(&f, &b, 4);
  return f;
}
float fp8_to_float(uint32_t v, bool e5m2) {
  if (e5m2) return half_to_float(static_cast<uint16_t>(v << 8));
  uint32_t sign = v >> 7 & 1, exponent = v >> 3 & 15, mantissa = v & 7;
  if (exponent == 15 && mantissa == 7) return bits_to_float(0x7fc00000u);
  float magnitude = exponent ? __builtin_ldexpf(1.0f + static_cast<float>(mantissa) / 8, static_cast<int>(exponent) - 7)
                             : __builtin_ldexpf(static_cast<float>(mantissa), -9);
  return sign ? -magnitude : magnitude;
}

float element_float(Type t, const uint32_t* regs, int i) {
  switch (t) {
    case Type::f16: return half_to_float(static_cast<uint16_t>(regs[i >> 1] >> (16 * (i & 1))));
    case Type::bf16: return bits_to_float((regs[i >> 1] >> (16 * (i & 1)) & 0xffff) << 16);
    case Type::tf32: return bits_to_float(regs[i] & 0xffffe000u);  // the low 13 bits are not read
    case Type::e4m3: return fp8_to_float(regs[i >> 2] >> (8 * (i & 3)) & 255, false);
    case Type::e5m2: return fp8_to_float(regs[i >> 2] >> (8 * (i & 3)) & 255, true);
    default: return 0;
  }
}
int element_int(Type t, const uint32_t* regs, int i) {
  switch (t) {
    case Type::s8: return static_cast<int8_t>(regs[i >> 2] >> (8 * (i & 3)));
    case Type::u8: return static_cast<int>(regs[i >> 2] >> (8 * (i & 3)) & 255);
    case Type::s4: return static_cast<int>(regs[i >> 3] << (28 - 4 * (i & 7))) >> 28;
    case Type::u4: return static_cast<int>(regs[i >> 3] >> (4 * (i & 7)) & 15);
    default: return static_cast<int>(regs[i >> 5] >> (i & 31) & 1);
  }
}

// Element i of a lane's A fragment: its place in the matrix. E elements share a register.
struct Place {
  int row, k;
};
Place place_a(const Plan& p, int lane, int i) {
  int e = bits_of(p.a) >= 32 ? 1 : 32 / bits_of(p.a), reg = i / e, tall = p.m / 8;
  return {lane / 4 + 8 * (reg % tall), (lane % 4) * e + i % e + reg / tall * 4 * e};
}
Place place_b(const Plan& p, int lane, int i) {
  int e = bits_of(p.b) >= 32 ? 1 : 32 / bits_of(p.b);
  return {lane / 4, (lane % 4) * e + i % e + i / e * 4 * e};
}
Place place_c(int lane, int i) { return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}; }

template <class Acc>
void read_c(const Plan& p, Fiber* lanes, Acc acc[16][8]) {
  int per_lane = p.m * 8 / 32;
  for (int lane = 0; lane < 32; ++lane) {
    auto& load = *static_cast<Payload*>(lanes[lane].payload);
    const uint32_t* c = load.frag + p.regs_a + p.regs_b;
    for (int i = 0; i < per_lane; ++i) {
      Place at = place_c(lane, i);
      Acc v;
      if (p.c == Type::f16) v = static_cast<Acc>(half_to_float(static_cast<uint16_t>(c[i >> 1] >> (16 * (i & 1)))));
      else memcpy(&v, reinterpret_cast<const Acc*>(c) + i, sizeof v);
      acc[at.row][at.k] = v;
    }
  }
}

template <class Acc>
void write_d(const Plan& p, Fiber* lanes, Acc acc[16][8]) {
  int per_lane = p.m * 8 / 32;
  for (int lane = 0; lane < 32; ++lane) {
    auto& load = *static_cast<Payload*>(lanes[lane].payload);
    uint32_t* d = load.frag + p.regs_a + p.regs_b + p.regs_c;
    for (int i = 0; i < per_lane; ++i) {
      Place at = place_c(lane, i);
      Acc v = acc[at.row][at.k];
      if (p.d == Type::f16) {
        uint32_t half = float_to_half(static_cast<float>(v));
        d[i >> 1] = i & 1 ? (d[i >> 1] & 0xffff) | half << 16 : half;
      } else {
        memcpy(reinterpret_cast<Acc*>(d) + i, &v, sizeof v);
      }
    }
  }
}

template <class In, class Acc, class Get>
void multiply(const Plan& p, Fiber* lanes, Get get) {
  alignas(64) In a[16][256];
  alignas(64) In b[256][8];
  alignas(64) Acc acc[16][8];
  int count_a = p.m * p.k / 32, count_b = 8 * p.k / 32;
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t* frag = static_cast<Payload*>(lanes[lane].payload)->frag;
    for (int i = 0; i < count_a; ++i) {
      Place at = place_a(p, lane, i);
      a[at.row][at.k] = get(p.a, frag, i);
    }
    for (int i = 0; i < count_b; ++i) {
      Place at = place_b(p, lane, i);
      b[at.k][at.row] = get(p.b, frag + p.regs_a, i);
    }
  }
  read_c<Acc>(p, lanes, acc);
  for (int row = 0; row < p.m; ++row)
    for (int k = 0; k < p.k; ++k) {
      In left = a[row][k];
      for (int col = 0; col < 8; ++col) acc[row][col] += static_cast<Acc>(left * b[k][col]);
    }
  write_d<Acc>(p, lanes, acc);
}

double get_f64(Type, const uint32_t* regs, int i) {
  double v;
  memcpy(&v, regs + 2 * i, 8);
  return v;
}

// Sums that leave 32 bits wrap, or stay at the end with .satfinite.
void multiply_int(const Plan& p, Fiber* lanes) {
  long long acc[16][8];
  int32_t start[16][8];
  static int a[16][256], b[256][8];
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t* frag = static_cast<Payload*>(lanes[lane].payload)->frag;
    for (int i = 0; i < p.m * p.k / 32; ++i) {
      Place at = place_a(p, lane, i);
      a[at.row][at.k] = element_int(p.a, frag, i);
    }
    for (int i = 0; i < 8 * p.k / 32; ++i) {
      Place at = place_b(p, lane, i);
      b[at.k][at.row] = element_int(p.b, frag + p.regs_a, i);
    }
  }
  read_c<int32_t>(p, lanes, start);
  for (int row = 0; row < p.m; ++row)
    for (int col = 0; col < 8; ++col) acc[row][col] = start[row][col];
  bool one_bit = p.a == Type::b1;
  for (int row = 0; row < p.m; ++row)
    for (int k = 0; k < p.k; ++k)
      for (int col = 0; col < 8; ++col) {
        int x = a[row][k], y = b[k][col];
        acc[row][col] += one_bit ? (p.bit_and ? x & y : x ^ y) : x * y;
      }
  for (int row = 0; row < p.m; ++row)
    for (int col = 0; col < 8; ++col) {
      long long v = acc[row][col];
      if (p.saturate) v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
      start[row][col] = static_cast<int32_t>(v);
    }
  write_d<int32_t>(p, lanes, start);
}

// sm_70: four 8x8x4 products, each by lanes 4q..4q+3 and 16+4q..16+4q+3 (PTX ISA, matrix fragments of mma.m8n8k4).
Place quad_a(const Plan& p, int lane, int i) {
  int high = lane >= 16 ? 4 : 0;
  return p.a_row ? Place{lane % 4 + high, i} : Place{i + high, lane % 4};
}
Place quad_b(const Plan& p, int lane, int i) {
  int high = lane >= 16 ? 4 : 0;
  return p.b_col ? Place{lane % 4 + high, i} : Place{i + high, lane % 4};
}
Place quad_c(Type t, int lane, int i) {
  int high = lane >= 16 ? 4 : 0;
  if (t == Type::f16) return {lane % 4 + high, i};
  return {(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
}

void multiply_quads(const Plan& p, Fiber* lanes) {
  for (int quad = 0; quad < 4; ++quad) {
    float a[8][4], b[4][8], acc[8][8];
    for (int half = 0; half < 2; ++half)
      for (int l = 0; l < 4; ++l) {
        int lane = 16 * half + 4 * quad + l;
        const uint32_t* frag = static_cast<Payload*>(lanes[lane].payload)->frag;
        const uint32_t* c = frag + 4;
        for (int i = 0; i < 4; ++i) {
          Place at = quad_a(p, lane, i), bt = quad_b(p, lane, i);
          a[at.row][at.k] = element_float(Type::f16, frag, i);
          b[bt.k][bt.row] = element_float(Type::f16, frag + 2, i);
        }
        for (int i = 0; i < 8; ++i) {
          Place at = quad_c(p.c, lane, i);
          acc[at.row][at.k] = p.c == Type::f16 ? element_float(Type::f16, c, i) : bits_to_float(c[i]);
        }
      }
    for (int r = 0; r < 8; ++r)
      for (int k = 0; k < 4; ++k)
        for (int col = 0; col < 8; ++col) acc[r][col] += a[r][k] * b[k][col];
    for (int half = 0; half < 2; ++half)
      for (int l = 0; l < 4; ++l) {
        int lane = 16 * half + 4 * quad + l;
        uint32_t* d = static_cast<Payload*>(lanes[lane].payload)->frag + 4 + p.regs_c;
        for (int i = 0; i < 8; ++i) {
          Place at = quad_c(p.d, lane, i);
          float v = acc[at.row][at.k];
          if (p.d == Type::f16) {
            uint32_t h = float_to_half(v);
            d[i >> 1] = i & 1 ? (d[i >> 1] & 0xffff) | h << 16 : h;
          } else {
            memcpy(d + i, &v, 4);
          }
        }
      }
  }
}

// The common case, half x half into float, without a table of places.
void multiply_half(const Plan& p, Fiber* lanes) {
  alignas(32) float a[16][16];
  alignas(32) float b[16][8];
  alignas(32) float acc[16][8];
  bool bf = p.a == Type::bf16;
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t* f = static_cast<Payload*>(lanes[lane].payload)->frag;
    int g = lane / 4, t2 = lane % 4 * 2;
    for (int r = 0; r < p.regs_a + p.regs_b; ++r) {
      float lo = bf ? bits_to_float(f[r] << 16) : half_to_float(static_cast<uint16_t>(f[r]));
      float hi = bf ? bits_to_float(f[r] & 0xffff0000u) : half_to_float(static_cast<uint16_t>(f[r] >> 16));
      if (r < p.regs_a) a[g + 8 * (r & 1)][t2 + 8 * (r >> 1)] = lo, a[g + 8 * (r & 1)][t2 + 1 + 8 * (r >> 1)] = hi;
      else b[t2 + 8 * (r - p.regs_a)][g] = lo, b[t2 + 1 + 8 * (r - p.regs_a)][g] = hi;
    }
    const uint32_t* c = f + p.regs_a + p.regs_b;
    for (int i = 0; i < 4; ++i) memcpy(&acc[g + 8 * (i >> 1)][t2 + (i & 1)], c + i, 4);
  }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < p.k; ++k) {
      float left = a[row][k];
      for (int col = 0; col < 8; ++col) acc[row][col] += left * b[k][col];
    }
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* d = static_cast<Payload*>(lanes[lane].payload)->frag + p.regs_a + p.regs_b + p.regs_c;
    int g = lane / 4, t2 = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) memcpy(d + i, &acc[g + 8 * (i >> 1)][t2 + (i & 1)], 4);
  }
}

void do_mma(Warp&, uint32_t mask, Fiber* lanes) {
  const Fiber& first = lanes[__builtin_ctz(mask)];
  const Plan& p = *static_cast<Payload*>(first.payload)->plan;
  run.mma++;
  if (mask != ~0u) {
    report("partial-warp", Severity::veto, first.pc, 0, "", -1, "mma.sync by lanes 0x%08x only", mask);
    stop("stopped", "partial warp");
  }
  for (uint32_t m = mask; m; m &= m - 1)
    if (static_cast<Payload*>(lanes[__builtin_ctz(m)].payload)->plan->k != p.k)
      report("warp-divergence", Severity::veto, first.pc, 0, "", -1, "lanes of one warp execute different mma.sync");
  if (p.quad_pair) return multiply_quads(p, lanes);
  if (p.a == Type::f64) return multiply<double, double>(p, lanes, get_f64);
  if (is_integer(p.a)) return multiply_int(p, lanes);
  bool half = p.m == 16 && p.a == p.b && (p.a == Type::f16 || p.a == Type::bf16);
  if (half && p.c == Type::f32 && p.d == Type::f32) return multiply_half(p, lanes);
  multiply<float, float>(p, lanes, element_float);
}

bool type_named(const char* s, Type* out) {
  const struct {
    const char* name;
    Type type;
  } names[] = {{"f16", Type::f16}, {"bf16", Type::bf16}, {"tf32", Type::tf32}, {"f32", Type::f32}, {"f64", Type::f64},
               {"e4m3", Type::e4m3}, {"e5m2", Type::e5m2}, {"s8", Type::s8}, {"u8", Type::u8}, {"s4", Type::s4},
               {"u4", Type::u4}, {"b1", Type::b1}, {"s32", Type::s32}};
  for (const auto& n : names)
    if (!strcmp(n.name, s)) {
      *out = n.type;
      return true;
    }
  return false;
}

int words(int elements, Type t) { return (elements * bits_of(t) + 31) / 32; }
}  // namespace

// Reads "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"; false for what is not known.
bool mma_prepare(const char* opcode, void** out) {
  auto* p = static_cast<Plan*>(calloc(1, sizeof(Plan)));
  char text[160];
  snprintf(text, sizeof text, "%s", opcode);
  Type types[8];
  int n_types = 0;
  char* save = nullptr;
  for (char* part = strtok_r(text, ".", &save); part; part = strtok_r(nullptr, ".", &save)) {
    if (!strcmp(part, "mma") || !strcmp(part, "sync") || !strcmp(part, "aligned") || !strcmp(part, "popc") || !strcmp(part, "xor")) continue;
    if (!strcmp(part, "and")) p->bit_and = true;
    else if (!strcmp(part, "satfinite")) p->saturate = true;
    else if (!strcmp(part, "row") || !strcmp(part, "col")) continue;
    else if (part[0] == 'm' && sscanf(part, "m%dn%dk%d", &p->m, &p->n, &p->k) == 3) continue;
    else if (n_types < 8 && type_named(part, &types[n_types])) n_types++;
    else return false;
  }
  if (n_types != 4 || p->n != 8 || (p->m != 8 && p->m != 16) || p->k > 256) return false;
  const char* row = strstr(opcode, ".row"), *col = strstr(opcode, ".col");
  p->d = types[0], p->a = types[1], p->b = types[2], p->c = types[3];
  p->quad_pair = p->m == 8 && p->k == 4 && p->a == Type::f16;
  p->a_row = row && (!col || row < col);
  const char* second = strstr(opcode, p->a_row ? ".row" : ".col") + 4;
  p->b_col = strncmp(second, ".col", 4) == 0;
  if (!p->quad_pair && !(p->a_row && p->b_col)) return false;
  p->regs_a = p->quad_pair ? 2 : words(p->m * p->k / 32, p->a);
  p->regs_b = p->quad_pair ? 2 : words(8 * p->k / 32, p->b);
  p->regs_c = p->quad_pair ? words(8, p->c) : words(p->m / 4, p->c);
  p->regs_d = p->quad_pair ? words(8, p->d) : words(p->m / 4, p->d);
  *out = p;
  return true;
}

int mma_regs(const void* plan, int which) {
  const Plan& p = *static_cast<const Plan*>(plan);
  return which == 0 ? p.regs_a : which == 1 ? p.regs_b : which == 2 ? p.regs_c : p.regs_d;
}
bool mma_is_f64(const void* plan) { return static_cast<const Plan*>(plan)->a == Type::f64; }

void mma_run(void* plan, uint32_t* frag, uintptr_t pc) {
  Payload load{frag, static_cast<Plan*>(plan)};
  collective(kMma, ~0u, &load, do_mma, pc, "mma.sync");
}

}  // namespace emu
