#include "data/sets/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/error.h"
#include "data/hash_random.h"

namespace kb {
namespace {

void check(const SyntheticSpec& spec) {
  const std::pair<const char*, int64_t> extents[] = {
      {"channels", spec.shape.channels}, {"height", spec.shape.height},     {"width", spec.shape.width},
      {"classes", spec.classes},         {"train_count", spec.train_count}, {"test_count", spec.test_count}};
  for (const auto& [what, value] : extents) {
    if (value < 1)
      throw DataError({"synthetic", fmt::format("{} is out of range", what), "at least 1", fmt::to_string(value), ""});
  }
}

Split noise(const SyntheticSpec& spec, int part, int64_t count) {
  Split split{spec.shape, Bytes(count * spec.shape.size()), std::vector<int32_t>(count)};
  for (int64_t i = 0; i < count; ++i) {
    HashStream random(hash_words(spec.seed, part, i));
    uint8_t* pixel = split.pixels.data() + i * spec.shape.size();
    uint64_t word = 0;
    for (int64_t p = 0; p < spec.shape.size(); ++p, word >>= 8) {
      if (p % 8 == 0) word = random.bits();
      pixel[p] = static_cast<uint8_t>(word);
    }
    split.labels[i] = static_cast<int32_t>(i % spec.classes);
  }
  return split;
}

}  // namespace

Dataset synthetic_dataset(const SyntheticSpec& spec) {
  check(spec);
  std::vector<std::string> names;
  for (int64_t c = 0; c < spec.classes; ++c) names.push_back(fmt::to_string(c));
  return make_dataset("synthetic", std::move(names), noise(spec, 0, spec.train_count), noise(spec, 1, spec.test_count));
}

}  // namespace kb
