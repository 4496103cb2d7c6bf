// Sub-operations and helpers shared by the executors of inline PTX.
#pragma once
#include <cstdint>

#include "ptx.h"

namespace emu {
enum PtxSub { kAdd = 1, kSub, kMul, kFma, kDiv, kRem, kMin, kMax, kAbs, kNeg, kAnd, kOr, kXor, kNot, kShl, kShr, kPopc, kClz,
              kEx2, kLg2, kSin, kCos, kTanh, kRcp, kRsqrt, kSqrt };
float bits_float(uint64_t b);
uint64_t float_bits(float f);
double read_float(const PtxType& t, uint64_t b);
uint64_t write_float(const PtxType& t, double v, char mode);
Exec find_math(Instr& in);
Exec find_memory(Instr& in);
Exec find_warp(Instr& in);
}  // namespace emu
