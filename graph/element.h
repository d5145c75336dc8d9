// The C++ types that a program may hand elements over in, and the dtype that each stands for.
#pragma once
#include <concepts>
#include <optional>
#include <type_traits>

#include "graph/dtype.h"

namespace kb {

// Returns the first dtype that elements of T serve, if there is any. An integer serves the dtype of its width and sign;
// uint8_t also serves boolean (0 or 1). float also serves f16 and bf16: an input is rounded to them, and their outputs
// are exact in float.
template <class T>
constexpr std::optional<DType> find_dtype() {
  if constexpr (std::same_as<T, double>) return DType::f64;
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, bool>) return DType::boolean;
  if constexpr (std::integral<T>)
    for (const DTypeInfo& row : kDTypes)
      if (is_integer(row.dtype) && is_of_tensors(row.dtype) && row.is_signed == std::is_signed_v<T> &&
          size_of(row.dtype) == static_cast<int64_t>(sizeof(T)))
        return row.dtype;
  return std::nullopt;
}

template <class T>
concept Element = (find_dtype<T>().has_value());

template <Element T>
constexpr DType dtype_of() {
  return *find_dtype<T>();
}

}  // namespace kb
