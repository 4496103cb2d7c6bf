// Reads PTX: statements, predicates, declarations, vectors, addresses, immediates.
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>

#include "ptx.h"
#include "rt.h"

namespace emu {

namespace {
using Names = std::map<std::string, int>;

std::string strip(const std::string& s) {
  size_t a = s.find_first_not_of(" \t\n\r"), b = s.find_last_not_of(" \t\n\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::string without_comments(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.compare(i, 2, "//") == 0) {
      while (i < s.size() && s[i] != '\n') ++i;
      out += ' ';
    } else if (s.compare(i, 2, "/*") == 0) {
      i = s.find("*/", i);
      if (i == std::string::npos) break;
      ++i;
    } else {
      out += s[i];
    }
  }
  return out;
}

std::vector<std::string> split_top(const std::string& s, char at) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : s) {
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c == at && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  for (auto& p : out) p = strip(p);
  return out;
}

bool parse_type(const std::string& s, PtxType* t) {
  *t = PtxType();
  if (s == "pred") return t->kind = 'p', t->bits = 1, true;
  if (s == "bf16" || s == "bf16x2") return t->kind = 'f', t->bits = 16, t->brain = true, t->lanes = s == "bf16" ? 1 : 2, true;
  if (s == "f16x2") return t->kind = 'f', t->bits = 16, t->lanes = 2, true;
  if (s == "tf32") return t->kind = 'f', t->bits = 32, t->tf32 = true, true;
  if (s == "e4m3x2" || s == "e5m2x2") return t->kind = 'f', t->bits = 8, t->lanes = 2, t->fp8 = s[1], true;
  if (s.size() < 2 || !strchr("usfb", s[0])) return false;
  char* end;
  long bits = strtol(s.c_str() + 1, &end, 10);
  if (*end || (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128)) return false;
  t->kind = s[0], t->bits = static_cast<int>(bits);
  return true;
}

const std::map<std::string, int> kSpecials = {
    {"laneid", kLaneId}, {"warpid", kWarpId}, {"tid.x", kTidX}, {"tid.y", kTidY}, {"tid.z", kTidZ}, {"ctaid.x", kCtaX},
    {"ctaid.y", kCtaY}, {"ctaid.z", kCtaZ}, {"ntid.x", kNtidX}, {"ntid.y", kNtidY}, {"ntid.z", kNtidZ}, {"nctaid.x", kNctaX},
    {"nctaid.y", kNctaY}, {"nctaid.z", kNctaZ}, {"clock", kClock}, {"clock64", kClock}, {"globaltimer", kGlobalTimer},
    {"globaltimer_lo", kGlobalTimer}, {"smid", kSmId}, {"lanemask_eq", kLaneMaskEq}, {"lanemask_lt", kLaneMaskLt},
    {"lanemask_le", kLaneMaskLe}, {"lanemask_gt", kLaneMaskGt}, {"lanemask_ge", kLaneMaskGe}};

bool parse_number(const std::string& s, uint64_t* v) {
  if (s.size() == 10 && (s.compare(0, 2, "0f") == 0 || s.compare(0, 2, "0F") == 0)) return *v = strtoull(s.c_str() + 2, nullptr, 16), true;
  if (s.size() == 18 && (s.compare(0, 2, "0d") == 0 || s.compare(0, 2, "0D") == 0)) return *v = strtoull(s.c_str() + 2, nullptr, 16), true;
  if (s.empty() || !(isdigit(static_cast<unsigned char>(s[0])) || s[0] == '-')) return false;
  char* end;
  if (s.find('.') != std::string::npos) {
    float f = strtof(s.c_str(), &end);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return *v = bits, *end == 0;
  }
  *v = s[0] == '-' ? static_cast<uint64_t>(strtoll(s.c_str(), &end, 0)) : strtoull(s.c_str(), &end, 0);
  if (*end == 'U' || *end == 'u') ++end;
  return *end == 0;
}

struct Reader {
  Program& p;
  Names names;
  std::map<std::string, int> labels;
  std::vector<std::pair<size_t, std::string>> jumps;

  bool fail(const std::string& why) {
    if (p.bad.empty()) p.bad = why;
    return false;
  }

  int reg(const std::string& name) {
    auto it = names.find(name);
    return it == names.end() ? -1 : it->second;
  }

  void declare(const std::string& rest) {
    size_t space = rest.find_first_of(" \t\n");
    for (const auto& item : split_top(space == std::string::npos ? "" : rest.substr(space), ',')) {
      size_t angle = item.find('<');
      if (angle == std::string::npos) names[item] = p.registers++;
      else
        for (int i = 0, n = atoi(item.c_str() + angle + 1); i < n && i < 4096; ++i) names[item.substr(0, angle) + std::to_string(i)] = p.registers++;
    }
  }

  bool operand(const std::string& s, Operand* o) {
    if (s.empty()) return fail("an empty operand");
    if (s == "_") return o->kind = Operand::sink, true;
    if (s[0] == '{') {
      o->kind = Operand::vec;
      for (const auto& part : split_top(s.substr(1, s.size() - 2), ',')) {
        o->parts.emplace_back();
        if (!operand(part, &o->parts.back())) return false;
      }
      return true;
    }
    if (s[0] == '[') return address(s.substr(1, s.size() - 2), o);
    size_t bar = s.find('|');
    if (bar != std::string::npos) {
      Operand second;
      if (!operand(strip(s.substr(bar + 1)), &second) || !operand(strip(s.substr(0, bar)), o)) return false;
      o->second = second.kind == Operand::reg ? second.index : -1;
      return true;
    }
    if (s[0] == '!') return o->negated = true, operand(strip(s.substr(1)), o);
    if (s[0] == '%' && s.size() > 1 && isdigit(static_cast<unsigned char>(s[1]))) {
      o->kind = Operand::reg, o->index = atoi(s.c_str() + 1);
      return o->index < p.operands || fail("operand " + s + " is not there");
    }
    if (s[0] == '%') {
      auto it = kSpecials.find(s.substr(1));
      if (it != kSpecials.end()) return o->kind = Operand::special, o->index = it->second, true;
    }
    if (parse_number(s, &o->value)) return o->kind = Operand::imm, true;
    o->index = reg(s);
    o->kind = Operand::reg;
    return o->index >= 0 || fail("the name '" + s + "'");
  }

  bool address(const std::string& s, Operand* o) {
    o->kind = Operand::mem;
    size_t plus = s.find_first_of("+-", 1);
    o->parts.emplace_back();
    if (plus == std::string::npos) return operand(strip(s), &o->parts[0]);
    std::string off = strip(s.substr(plus + (s[plus] == '+')));
    if (!operand(strip(s.substr(0, plus)), &o->parts[0])) return false;
    if (off[0] == '%') {  // an "n" constraint
      o->parts.emplace_back();
      return operand(off, &o->parts[1]);
    }
    uint64_t v;
    if (!parse_number(off, &v)) return fail("the address [" + s + "]");
    o->offset = static_cast<int64_t>(v);
    return true;
  }

  bool statement(std::string s) {
    size_t colon = s.find(':');
    if (colon != std::string::npos && s.compare(colon, 2, "::") != 0 && s.find_first_of(" .@[{%") > colon) {
      labels[strip(s.substr(0, colon))] = static_cast<int>(p.code.size());
      s = strip(s.substr(colon + 1));
      if (s.empty()) return true;
    }
    if (s.compare(0, 4, ".reg") == 0) return declare(strip(strip(s.substr(4))).c_str()), true;
    Instr in;
    if (s[0] == '@') {
      size_t space = s.find_first_of(" \t\n");
      if (space == std::string::npos) return fail("a predicate without an instruction");
      std::string g = s.substr(1, space - 1);
      in.guard_negated = g[0] == '!';
      Operand o;
      if (!operand(in.guard_negated ? g.substr(1) : g, &o)) return false;
      in.guard = o.index;
      s = strip(s.substr(space));
    }
    size_t space = s.find_first_of(" \t\n{[");
    in.opcode = s.substr(0, space);
    std::string opcode = in.opcode;
    for (size_t i; (i = opcode.find("::")) != std::string::npos;) opcode.replace(i, 2, "-");
    in.parts = split_top(opcode, '.');
    for (size_t i = 1; i < in.parts.size(); ++i) {
      PtxType t;
      if (parse_type(in.parts[i], &t)) in.types.push_back(t);
    }
    std::string rest = space == std::string::npos ? "" : strip(s.substr(space));
    if (in.parts[0] == "bra") {
      jumps.push_back({p.code.size(), rest});
      in.exec = nullptr;
      p.code.push_back(in);
      return true;
    }
    if (!rest.empty())
      for (const auto& item : split_top(rest, ',')) {
        in.ops.emplace_back();
        if (!operand(item, &in.ops.back())) return false;
      }
    in.exec = find_exec(in);
    if (!in.exec) return fail("the PTX instruction '" + in.opcode + "'");
    p.code.push_back(std::move(in));
    return true;
  }
};

void jump(Machine& m, const Instr& in) { m.next = in.sub; }

// `;` inside braces of a vector never occurs, so scopes can be cut away: `{` opens one when nothing precedes it.
std::vector<std::string> statements(const std::string& text) {
  std::vector<std::string> out;
  std::string now;
  int vector_depth = 0;
  for (char c : text) {
    if (c == '{' && strip(now).empty() && vector_depth == 0) continue;
    if (c == '{') ++vector_depth;
    if (c == '}' && vector_depth == 0) c = ';';
    else if (c == '}') --vector_depth;
    if (c == ';') {
      if (!strip(now).empty()) out.push_back(strip(now));
      now.clear();
    } else {
      now += c;
    }
  }
  if (!strip(now).empty()) out.push_back(strip(now));
  return out;
}
}  // namespace

Program* ptx_program(const char* text, const char* constraints, const char* file, int line) {
  auto* p = new Program;
  std::string clean;
  for (const char* c = text; *c; ++c) {
    if (c[0] == '%' && c[1] == '%') ++c, clean += '%';
    else if (c[0] == '%' && c[1] == '=') ++c;
    else clean += *c;
  }
  p->text = text, p->file = file, p->line = line;
  for (const char* c = constraints; *c; ++c) p->operands += *c == ',';
  p->registers = p->operands;
  Reader reader{*p, {}, {}, {}};
  for (const auto& s : statements(without_comments(clean)))
    if (!reader.statement(s)) break;
  for (const auto& j : reader.jumps) {
    auto it = reader.labels.find(j.second);
    if (it == reader.labels.end()) reader.fail("the label '" + j.second + "'");
    else p->code[j.first].sub = it->second, p->code[j.first].exec = jump;
  }
  return p;
}

void ptx_exec(Program* p, uint64_t* values, uintptr_t pc) {
  if (!p->bad.empty()) unsupported(pc, "%s in inline PTX \"%.120s\"", p->bad.c_str(), p->text.c_str());
  if (!hot.in_kernel) unsupported(pc, "inline PTX on the host");
  run.ptx++;
  uint64_t room[96];
  Machine m{values, pc, 0, nullptr};
  if (p->registers > p->operands) {
    if (p->registers > 96) unsupported(pc, "inline PTX with %d registers", p->registers);
    memcpy(room, values, static_cast<size_t>(p->operands) * 8);
    memset(room + p->operands, 0xff, static_cast<size_t>(p->registers - p->operands) * 8);
    m.r = room;
  }
  int jumps = 0;
  for (int n = static_cast<int>(p->code.size()); m.next < n;) {
    const Instr& in = p->code[m.next++];
    if (in.guard >= 0 && ((m.r[in.guard] & 1) != 0) == in.guard_negated) continue;
    int before = m.next;
    in.exec(m, in);
    if (m.next < before && ++jumps > 100000) unsupported(pc, "a loop in inline PTX that waits for others");
  }
  if (m.r == room) memcpy(values, room, static_cast<size_t>(p->operands) * 8);
}

void ptx_run(Program* p, uint64_t* values, const void* pc) { ptx_exec(p, values, reinterpret_cast<uintptr_t>(pc)); }

}  // namespace emu
