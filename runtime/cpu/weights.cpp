// Weights between PyTorch's order and the forms that a library wants: packing, and the sum of the shards' gradients.
#include <algorithm>
#include <type_traits>

#include "graph/error.h"
#include "graph/rounding.h"
#include "runtime/cpu/library_parts.h"
#include "runtime/element.h"

namespace kb {

namespace {

// The side of the squares of outputs and inputs in which both orders are walked, so that both stay in the first cache.
constexpr int64_t kSquare = 16;

int64_t output_squares(const WeightLayout& layout) { return ceil_div(std::ssize(layout.output_at), kSquare); }

int64_t weight_tiles(const WeightLayout& layout) { return std::ssize(layout.group_at) * output_squares(layout); }

// One row of one square of one tap: some inputs of one output. Input b is at canonical + b * taps in PyTorch's order
// and at packed + input_at[b] in the other; inputs from `real` on are padding there.
struct Row {
  int64_t canonical, packed;
  const int64_t* input_at;
};

// Calls visit(row, real, columns) for the outputs from o on of a square. If no part of it is padding, the counts are
// constants.
template <class F>
void walk_square(const WeightLayout& layout, int64_t group, int64_t tap, int64_t o, int64_t i, F visit) {
  const int64_t base = layout.group_at[group] + layout.tap_at[tap];
  const auto row = [&](int64_t a) {
    return Row{((group * layout.outputs + o + a) * layout.inputs + i) * layout.taps + tap,
               base + layout.output_at[o + a], layout.input_at.data() + i};
  };
  if (group < layout.groups && o + kSquare <= layout.outputs && i + kSquare <= layout.inputs) {
    for (int64_t a = 0; a < kSquare; ++a) visit(row(a), kSquare, kSquare);
    return;
  }
  const int64_t rows = std::min(std::ssize(layout.output_at) - o, kSquare),
                columns = std::min(std::ssize(layout.input_at) - i, kSquare),
                inputs = std::clamp<int64_t>(layout.inputs - i, 0, columns);
  for (int64_t a = 0; a < rows; ++a)
    visit(row(a), group < layout.groups && o + a < layout.outputs ? inputs : 0, columns);
}

// Calls walk_square for every square of the tiles [begin, end). A tile is kSquare outputs of one group.
template <class F>
void walk(const WeightLayout& layout, int64_t begin, int64_t end, F visit) {
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t group = tile / output_squares(layout), o = tile % output_squares(layout) * kSquare;
    for (int64_t i = 0; i < std::ssize(layout.input_at); i += kSquare)
      for (int64_t tap = 0; tap < layout.taps; ++tap) walk_square(layout, group, tap, o, i, visit);
  }
}

template <class From, class To>
void convert(const From& from, To& out) {
  if constexpr (std::is_same_v<From, To>)
    out = from;
  else
    out.store(from.load());
}

template <class From, class To>
void pack(const WeightLayout& layout, int64_t begin, int64_t end, const void* from, void* out) {
  const From* source = static_cast<const From*>(from);
  To* result = static_cast<To*>(out);
  const int64_t taps = layout.taps;
  walk(layout, begin, end, [&](const Row& row, int64_t real, int64_t columns) {
    for (int64_t b = 0; b < real; ++b) convert(source[row.canonical + b * taps], result[row.packed + row.input_at[b]]);
    for (int64_t b = real; b < columns; ++b) result[row.packed + row.input_at[b]].store(0);
  });
}

using Pack = void (*)(const WeightLayout&, int64_t, int64_t, const void*, void*);

Pack choose_pack(DType dtype, DType stored) {
  if (dtype == DType::bf16) return stored == DType::bf16 ? pack<Bf16, Bf16> : pack<Bf16, F32>;
  if (dtype == DType::f16) return pack<F16, F32>;
  ensure(dtype == DType::f32, "pack_weights: a source that is neither f32 nor bf16 nor f16");
  return pack<F32, F32>;
}

class PackOp : public LibraryOp {
 public:
  PackOp(WeightLayout layout, DType dtype) : layout_(std::move(layout)), pack_(choose_pack(dtype, layout_.dtype)) {}

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

// Sums `count` partial sums, `step` apart, for one row. It is not inlined, because the walk has no registers left.
template <class T>
[[gnu::noinline]] void sum_row(const T* parts, const int64_t* at, int64_t real, int64_t count, int64_t step, T* out,
                               int64_t taps) {
  if (count == 2) {
    for (int64_t b = 0; b < real; ++b) out[b * taps] = parts[at[b]] + parts[at[b] + step];
    return;
  }
  for (int64_t b = 0; b < real; ++b) {
    T total = parts[at[b]];
    for (int64_t p = 1; p < count; ++p) total += parts[at[b] + p * step];
    out[b * taps] = total;
  }
}

template <class T>
void sum(const WeightLayout& layout, int64_t begin, int64_t end, const void* partials, int64_t count, void* out) {
  const T* first = static_cast<const T*>(partials);
  const int64_t step = static_cast<int64_t>(layout.bytes() / sizeof(T));
  T* result = static_cast<T*>(out);
  walk(layout, begin, end, [&](const Row& row, int64_t real, int64_t) {
    sum_row(first + row.packed, row.input_at, real, count, step, result + row.canonical, layout.taps);
  });
}

}  // namespace

WeightLayout WeightLayout::extents(const ConvSpec& spec, DType dtype) {
  WeightLayout layout{.dtype = dtype,
                      .groups = spec.groups,
                      .outputs = spec.o / spec.groups,
                      .inputs = spec.c / spec.groups,
                      .taps = spec.kh * spec.kw};
  layout.elements = layout.groups * layout.outputs * layout.inputs * layout.taps;
  return layout;
}

WeightLayout WeightLayout::plain(const ConvSpec& spec, DType dtype) {
  WeightLayout layout = extents(spec, dtype);
  const auto steps = [](int64_t count, int64_t stride) { return places(count, [&](int64_t i) { return i * stride; }); };
  layout.group_at = steps(layout.groups, layout.outputs * layout.inputs * layout.taps);
  layout.output_at = steps(layout.outputs, layout.inputs * layout.taps);
  layout.input_at = steps(layout.inputs, layout.taps);
  layout.tap_at = steps(layout.taps, 1);
  layout.canonical = true;
  return layout;
}

std::unique_ptr<LibraryOp> make_pack(WeightLayout layout, DType dtype) {
  return std::make_unique<PackOp>(std::move(layout), dtype);
}

void sum_partials(Pool& pool, const WeightLayout& layout, const void* partials, int64_t count, void* out) {
  pool.parallel(weight_tiles(layout), [&](int64_t begin, int64_t end, int) {
    if (layout.dtype == DType::f64) return sum<double>(layout, begin, end, partials, count, out);
    sum<float>(layout, begin, end, partials, count, out);
  });
}

}  // namespace kb
