#include "runtime/cpu/winograd/weights.h"

#include "runtime/cpu/library_parts.h"
#include "runtime/cpu/winograd/shape.h"

namespace kb::winograd {

namespace {

constexpr int64_t kTaps = 9;

// Values of 16 channels.
struct Block {
  float lane[kChannels];
};

// Calls f(lane) for all lanes; the compiler makes vectors of it.
template <class F>
void each_lane(F f) {
  for (int64_t i = 0; i < kChannels; ++i) f(i);
}

// out = G g for three values that are `step` apart; four are written, also `step` apart.
void widen(const Block* g, Block* out, int64_t step) {
  each_lane([&](int64_t i) {
    const float ends = 0.5F * (g[0].lane[i] + g[2 * step].lane[i]), middle = 0.5F * g[step].lane[i];
    out[0].lane[i] = g[0].lane[i];
    out[step].lane[i] = ends + middle;
    out[2 * step].lane[i] = ends - middle;
    out[3 * step].lane[i] = g[2 * step].lane[i];
  });
}

// out = G^T u for four values that are `step` apart.
void narrow(const Block* u, Block* out, int64_t step) {
  each_lane([&](int64_t i) {
    const float sum = 0.5F * (u[step].lane[i] + u[2 * step].lane[i]),
                difference = 0.5F * (u[step].lane[i] - u[2 * step].lane[i]);
    out[0].lane[i] = u[0].lane[i] + sum;
    out[step].lane[i] = difference;
    out[2 * step].lane[i] = sum + u[3 * step].lane[i];
  });
}

// Places of the weights of a row and of one of 16 columns, and of their terms.
struct Places {
  int64_t columns, rows, column_step, row_step;
  bool turned;

  explicit Places(const ConvSpec& s)
      : columns(s.kind == ConvKind::input_grad ? s.c : s.o),
        rows(s.kind == ConvKind::input_grad ? s.o : s.c),
        column_step(s.kind == ConvKind::input_grad ? kTaps : s.c * kTaps),
        row_step(s.kind == ConvKind::input_grad ? s.c * kTaps : kTaps),
        turned(s.kind == ConvKind::input_grad) {}
  int64_t weight(int64_t block, int64_t row) const { return block * kChannels * column_step + row * row_step; }
  int64_t terms(int64_t block, int64_t row) const { return (block * rows + row) * kChannels; }
  int64_t term_step() const { return rows * columns; }
};

void write_terms(const Places& places, const float* weights, float* terms) {
  Block g[3][4], u[4][4];  // rows of g have three values and one unused
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    const float* from = weights + (places.turned ? kTaps - 1 - tap : tap);
    each_lane([&](int64_t i) { g[tap / 3][tap % 3].lane[i] = from[i * places.column_step]; });
  }
  for (int64_t c = 0; c < 3; ++c) widen(&g[0][c], &u[0][c], 4);
  for (int64_t r = 0; r < 4; ++r) {
    Block row[4];
    widen(u[r], row, 1);
    for (int64_t c = 0; c < 4; ++c) {
      float* to = terms + (4 * r + c) * places.term_step();
      each_lane([&](int64_t i) { to[i] = row[c].lane[i]; });
    }
  }
}

void write_gradient(const Places& places, const float* terms, int64_t count, int64_t step, float* gradient) {
  Block u[4][4], g[3][4];
  for (int64_t term = 0; term < kTerms; ++term) {
    Block& sum = u[term / 4][term % 4];
    const float* from = terms + term * places.term_step();
    each_lane([&](int64_t i) { sum.lane[i] = from[i]; });
    for (int64_t p = 1; p < count; ++p) each_lane([&](int64_t i) { sum.lane[i] += from[p * step + i]; });
  }
  for (int64_t c = 0; c < 4; ++c) narrow(&u[0][c], &g[0][c], 4);
  for (int64_t r = 0; r < 3; ++r) {
    Block row[3];
    narrow(g[r], row, 1);
    for (int64_t c = 0; c < 3; ++c)
      each_lane([&](int64_t i) { gradient[i * places.column_step + 3 * r + c] = row[c].lane[i]; });
  }
}

// Calls visit(block, row) for all rows of every block of columns.
template <class F>
void each_row(Pool& pool, const Places& places, F visit) {
  pool.parallel(places.columns / kChannels, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block)
      for (int64_t row = 0; row < places.rows; ++row) visit(block, row);
  });
}

}  // namespace

void write_weight_terms(Pool& pool, const ConvSpec& spec, const float* weights, float* terms) {
  const Places places(spec);
  each_row(pool, places, [&](int64_t block, int64_t row) {
    write_terms(places, weights + places.weight(block, row), terms + places.terms(block, row));
  });
}

void write_weight_gradient(Pool& pool, const ConvSpec& spec, const float* terms, int64_t count, int64_t step,
                           float* gradient) {
  const Places places(spec);
  each_row(pool, places, [&](int64_t block, int64_t row) {
    write_gradient(places, terms + places.terms(block, row), count, step, gradient + places.weight(block, row));
  });
}

namespace {

class PackOp : public LibraryOp {
 public:
  PackOp(const ConvSpec& spec, DType dtype) : spec_(spec) {
    if (dtype != DType::f32) widened_ = make_pack(WeightLayout::plain(spec, DType::f32), dtype);
  }

  size_t scratch_bytes() const override { return widened_ ? WeightLayout::plain(spec_, DType::f32).bytes() : 0; }
  std::string implementation() const override { return "winograd:pack"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    if (widened_) {
      void* const widened[] = {scratch};
      widened_->run(pool, in, widened, nullptr);
    }
    write_weight_terms(pool, spec_, static_cast<const float*>(widened_ ? scratch : in[0]), static_cast<float*>(out[0]));
  }

 private:
  ConvSpec spec_;
  std::unique_ptr<LibraryOp> widened_;  // null: weights are read as they are
};

}  // namespace

size_t packed_weight_bytes(const ConvSpec& spec) {
  return static_cast<size_t>(kTerms * spec.c * spec.o) * sizeof(float);
}

std::unique_ptr<LibraryOp> plan_pack_weights(const ConvSpec& spec, DType dtype) {
  return std::make_unique<PackOp>(spec, dtype);
}

}  // namespace kb::winograd
