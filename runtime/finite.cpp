#include "runtime/finite.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace kb {
namespace {

struct Found {
  int64_t count = 0, first = -1;
  double value = 0;  // the first value that is not finite
};

// Returns whether an f32 value is not finite, which is when all bits of its exponent are set. It is a quick test,
// because most tensors hold no such value.
bool has_any(const float* values, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    any |= (bits & kExponent) == kExponent;
  }
  return any;
}

Found not_finite(const TensorView& tensor) {
  const DType dtype = tensor.type.dtype;
  const int64_t elements = tensor.type.elements();
  if (!is_float(dtype)) return {};
  if (dtype == DType::f32 && !has_any(reinterpret_cast<const float*>(tensor.data), elements)) return {};
  Found found;
  for (int64_t i = 0; i < elements; ++i) {
    const double value = load_element(dtype, tensor.data, i);
    if (std::isfinite(value)) continue;
    if (found.count++ == 0) found.first = i, found.value = value;
  }
  return found;
}

}  // namespace

std::string not_finite_text(std::span<const TensorView> tensors) {
  std::string text;
  int64_t more = 0;
  for (const TensorView& tensor : tensors) {
    const Found found = not_finite(tensor);
    if (found.count == 0) continue;
    if (text.empty())
      text = fmt::format("{}: {} of {} values {} not finite, the first at index {}: {}", tensor.name, found.count,
                         tensor.type.elements(), found.count == 1 ? "is" : "are", found.first, found.value);
    else
      ++more;
  }
  if (more > 0) text += fmt::format("; and {} more tensor{}", more, more == 1 ? "" : "s");
  return text;
}

}  // namespace kb
