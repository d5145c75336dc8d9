// A field of floats for small trainings, such as vectors of a model of a few layers.
#pragma once
#include <cmath>
#include <memory>
#include <vector>

#include "recipes/task/source.h"

namespace kb::test {

// Returns sin(1.3 i) for i = 0, 1, ..., count - 1.
inline std::vector<float> sines(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(std::sin(1.3 * static_cast<double>(i))));
  return values;
}

// Returns a source of `count` samples of one field with `width` of these numbers each.
inline std::shared_ptr<const Source> sine_source(int64_t count, int64_t width) {
  return std::make_shared<TableSource>(count, std::vector{field_bytes(sines(width * count))});
}

}  // namespace kb::test
