// C++ types of elements, and the dtypes that they stand for.
#pragma once
#include <concepts>

#include "graph/dtype.h"

namespace kb {

// float stands for f32, f16 and bf16 (an input is rounded to these, an output of them is exact), uint8_t for u8 and
// boolean (0 or 1), each other one for the dtype of its name.
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
