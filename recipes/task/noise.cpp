#include "recipes/task/noise.h"

#include <algorithm>

namespace kb {
namespace {

// Random numbers of 24 bits, the high ones of a linear congruential generator, whose low bits have short periods.
class NoiseWords {
 public:
  uint32_t next() { return (word_ = word_ * 1664525u + 1013904223u) >> 8; }

 private:
  uint32_t word_ = 1;
};

double noise_value(const Field& field, int64_t position, int64_t rows, NoiseWords& words) {
  if (field.below != 0) return static_cast<double>(position % (field.below == Field::kRows ? rows : field.below));
  if (is_float(field.dtype)) return words.next() * 0x1p-23 - 1;
  return field.dtype == DType::u8 ? words.next() >> 16 : 0;
}

class FieldNoise : public Source {
 public:
  FieldNoise(std::vector<Field> fields, int64_t count) : fields_(std::move(fields)), count_(count) {}

  int64_t count() const override { return count_; }
  bool is_constant() const override { return true; }

  FieldFill gather(const Order& order, int64_t first_row) const override {
    return [this, order, first_row](int64_t step, const FieldMemory& memory) {
      NoiseWords words;
      for (size_t f = 0; f < fields_.size(); ++f) {
        if (fill_lengths(f, memory)) continue;
        const int64_t elements = static_cast<int64_t>(memory.fields[f].size() / size_of(fields_[f].dtype));
        for (int64_t i = 0; i < elements; ++i)
          store_element(fields_[f].dtype, memory.fields[f].data(), i,
                        noise_value(fields_[f], i, static_cast<int64_t>(memory.weights.size()), words));
      }
      for (size_t row = 0; row < memory.weights.size(); ++row)
        memory.weights[row] = order.row(step, first_row + static_cast<int64_t>(row)).weight;
    };
  }

 private:
  // Fills the lengths of a ragged field, whose samples are as long as the memory has them. Returns whether the field is
  // one of lengths.
  bool fill_lengths(size_t field, const FieldMemory& memory) const {
    const auto is_of = [&](const Field& other) {
      return other.is_ragged() && length_field(other.name).name == fields_[field].name;
    };
    const auto ragged = std::ranges::find_if(fields_, is_of);
    if (ragged == fields_.end()) return false;
    const std::span<const std::byte> values = memory.fields[static_cast<size_t>(ragged - fields_.begin())];
    const size_t length = values.size() / memory.weights.size() / static_cast<size_t>(size_of(ragged->dtype));
    for (size_t row = 0; row * sizeof(int32_t) < memory.fields[field].size(); ++row)
      store_element(DType::i32, memory.fields[field].data(), static_cast<int64_t>(row), static_cast<double>(length));
    return true;
  }

  std::vector<Field> fields_;
  int64_t count_;
};

}  // namespace

std::shared_ptr<const Source> field_noise(std::vector<Field> fields, int64_t count) {
  return std::make_shared<FieldNoise>(std::move(fields), count);
}

}  // namespace kb
