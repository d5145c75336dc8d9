// Weights between PyTorch's order and the forms that a library wants: packing, and the sum of the shards' gradients.
#include <algorithm>

#include "graph/error.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/library_parts.h"

namespace kb {

namespace {

// Both orders are walked in squares of this many outputs and inputs, so that both sides stay in the first cache.
constexpr int64_t kSquare = 16;

int64_t output_squares(const WeightLayout& layout) { return (std::ssize(layout.output_at) + kSquare - 1) / kSquare; }

int64_t weight_tiles(const WeightLayout& layout) { return std::ssize(layout.group_at) * output_squares(layout); }

// One square of one tap: visit(canonical, packed) for outputs o.. and inputs i.. of a group; canonical = -1 for
// padding.
template <class F>
void walk_square(const WeightLayout& layout, int64_t group, int64_t tap, int64_t o, int64_t i, F visit) {
  const int64_t taps = layout.taps, base = layout.group_at[group] + layout.tap_at[tap];
  const int64_t* output_at = layout.output_at.data() + o;
  const int64_t* input_at = layout.input_at.data() + i;
  const int64_t first = ((group * layout.outputs + o) * layout.inputs + i) * taps + tap;
  if (group < layout.groups && o + kSquare <= layout.outputs && i + kSquare <= layout.inputs) {
    for (int64_t a = 0; a < kSquare; ++a)
      for (int64_t b = 0; b < kSquare; ++b)
        visit(first + (a * layout.inputs + b) * taps, base + output_at[a] + input_at[b]);
    return;
  }
  const int64_t rows = std::min(std::ssize(layout.output_at) - o, kSquare),
                columns = std::min(std::ssize(layout.input_at) - i, kSquare);
  for (int64_t a = 0; a < rows; ++a) {
    for (int64_t b = 0; b < columns; ++b) {
      const bool real = group < layout.groups && o + a < layout.outputs && i + b < layout.inputs;
      visit(real ? first + (a * layout.inputs + b) * taps : -1, base + output_at[a] + input_at[b]);
    }
  }
}

// The same for every element of the tiles.
template <class F>
void walk(const WeightLayout& layout, int64_t begin, int64_t end, F visit) {
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t group = tile / output_squares(layout), o = tile % output_squares(layout) * kSquare;
    for (int64_t i = 0; i < std::ssize(layout.input_at); i += kSquare)
      for (int64_t tap = 0; tap < layout.taps; ++tap) walk_square(layout, group, tap, o, i, visit);
  }
}

template <class From, class To>
void pack(const WeightLayout& layout, int64_t begin, int64_t end, const void* from, void* to) {
  const From* source = static_cast<const From*>(from);
  To* result = static_cast<To*>(to);
  walk(layout, begin, end, [&](int64_t canonical, int64_t packed) {
    result[packed].store(canonical < 0 ? 0.0f : source[canonical].load());
  });
}

using Pack = void (*)(const WeightLayout&, int64_t, int64_t, const void*, void*);

template <class From>
Pack pack_to(DType stored, DType precision) {
  if (stored == DType::bf16) return pack<From, Bf16>;
  if (precision == DType::bf16) return pack<From, Rounded<Bf16>>;
  if (precision == DType::f16) return pack<From, Rounded<F16>>;
  return pack<From, F32>;
}

Pack choose_pack(DType source, DType stored, DType precision) {
  if (source == DType::bf16) return pack_to<Bf16>(stored, precision);
  if (source == DType::f16) return pack_to<F16>(stored, precision);
  ensure(source == DType::f32, "pack_weights: a source that is neither f32 nor bf16 nor f16");
  return pack_to<F32>(stored, precision);
}

class PackOp : public LibraryOp {
 public:
  PackOp(WeightLayout layout, DType source, DType precision)
      : layout_(std::move(layout)), pack_(choose_pack(source, layout_.dtype, precision)) {}

  size_t scratch_bytes() const override { return 0; }
  std::string implementation() const override { return "pack"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void*) const override {
    pool.parallel(weight_tiles(layout_),
                  [&](int64_t begin, int64_t end, int) { pack_(layout_, begin, end, in[0], out[0]); });
  }

 private:
  WeightLayout layout_;
  Pack pack_;
};

template <class T>
void sum(const WeightLayout& layout, int64_t begin, int64_t end, const void* partials, int64_t count, void* out) {
  const T* first = static_cast<const T*>(partials);
  const int64_t step = static_cast<int64_t>(layout.bytes() / sizeof(T));
  T* result = static_cast<T*>(out);
  walk(layout, begin, end, [&](int64_t canonical, int64_t packed) {
    if (canonical < 0) return;
    T total = first[packed];
    for (int64_t p = 1; p < count; ++p) total += first[packed + p * step];
    result[canonical] = total;
  });
}

}  // namespace

WeightLayout WeightLayout::plain(const ConvSpec& spec, DType dtype) {
  WeightLayout layout;
  layout.dtype = dtype;
  layout.groups = spec.groups;
  layout.outputs = spec.o / spec.groups;
  layout.inputs = spec.c / spec.groups;
  layout.taps = spec.kh * spec.kw;
  const auto steps = [](std::vector<int64_t>& places, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) places.push_back(i * stride);
  };
  steps(layout.group_at, layout.groups, layout.outputs * layout.inputs * layout.taps);
  steps(layout.output_at, layout.outputs, layout.inputs * layout.taps);
  steps(layout.input_at, layout.inputs, layout.taps);
  steps(layout.tap_at, layout.taps, 1);
  layout.elements = layout.groups * layout.outputs * layout.inputs * layout.taps;
  layout.canonical = true;
  return layout;
}

std::unique_ptr<LibraryOp> make_pack(WeightLayout layout, DType source, DType precision) {
  return std::make_unique<PackOp>(std::move(layout), source, precision);
}

void sum_partials(Pool& pool, const WeightLayout& layout, const void* partials, int64_t count, void* out) {
  pool.parallel(weight_tiles(layout), [&](int64_t begin, int64_t end, int) {
    if (layout.dtype == DType::f64) return sum<double>(layout, begin, end, partials, count, out);
    sum<float>(layout, begin, end, partials, count, out);
  });
}

}  // namespace kb
