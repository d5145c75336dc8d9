// Names the arithmetics in which a program can be compiled; the caller of the compiler chooses one.
#pragma once
#include <cstdint>

namespace kb {

enum class Precision : uint8_t { f32, tf32, bf16, f16, f64 };
// Returns true for mixed precision: bf16 or f16 beside f32.
inline bool is_mixed(Precision precision) { return precision == Precision::bf16 || precision == Precision::f16; }

}  // namespace kb
