#include "graph/type.h"

#include <limits>

namespace kb {
namespace {

std::string dims_text(const Type& type, const char* gap) {
  std::string text = "[";
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) text += gap;
    if (i < type.names.size() && type.names[i] != '_') text += std::string(1, type.names[i]) + "=";
    text += std::to_string(type.shape[i]);
  }
  return text + "]";
}

}  // namespace

// Returns the product of the extents; the greatest int64_t when it overflows.
int64_t element_count(const Dims& shape) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) count = kMost;
  return count;
}

std::string to_string(const Type& type) { return std::string(name(type.dtype)) + dims_text(type, ","); }
std::string shape_text(const Type& type) { return dims_text(type, ", "); }

}  // namespace kb
