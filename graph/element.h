// The C++ types that a program may hand elements over in, and the dtype that each stands for.
#pragma once
#include <concepts>

#include "graph/dtype.h"

namespace kb {

// float also serves f16 and bf16: an input is rounded to them, and their outputs are exact in float. uint8_t serves u8
// and boolean (0 or 1). Each other type serves the dtype of its name.
template <class T>
concept Element = std::same_as<T, double> || std::same_as<T, float> || std::same_as<T, int32_t> ||
    std::same_as<T, uint32_t> || std::same_as<T, uint8_t> || std::same_as<T, bool>;

template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, double>) return DType::f64;
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, int32_t>) return DType::i32;
  if constexpr (std::same_as<T, uint32_t>) return DType::u32;
  if constexpr (std::same_as<T, uint8_t>) return DType::u8;
  return DType::boolean;
}

}  // namespace kb
