// bf16 and f16 for a library that computes in f32: inputs are widened into scratch memory, and the result is rounded
// out of it.
#include <algorithm>

#include "graph/error.h"
#include "graph/rounding.h"
#include "runtime/cpu/library_parts.h"
#include "runtime/element.h"

namespace kb {

namespace {

constexpr int64_t kTile = 16384;  // elements of a tile

template <class From, class To>
void convert(Pool& pool, int64_t count, const void* from, void* out) {
  pool.parallel(ceil_div(count, kTile), [&](int64_t begin, int64_t end, int) {
    const From* source = static_cast<const From*>(from);
    To* result = static_cast<To*>(out);
    for (int64_t i = begin * kTile; i < std::min(count, end * kTile); ++i) result[i].store(source[i].load());
  });
}

class WidenedOp : public LibraryOp {
 public:
  WidenedOp(std::unique_ptr<LibraryOp> op, DType dtype, std::vector<int64_t> widen, int64_t round)
      : op_(std::move(op)), dtype_(dtype), widen_(std::move(widen)), round_(round) {
    ensure(widen_.size() <= kInputs, "widened op: too many inputs");
    for (const int64_t count : widen_) offsets_.push_back(scratch_.add(static_cast<size_t>(count) * sizeof(float)));
    result_ = scratch_.add(static_cast<size_t>(round_) * sizeof(float));
    inner_ = scratch_.add(op_->scratch_bytes());
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return op_->implementation() + " in f32"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    const void* inputs[kInputs] = {};
    for (size_t i = 0; i < in.size(); ++i) {
      inputs[i] = in[i];
      if (widen_[i] == 0) continue;
      widen(pool, widen_[i], in[i], at(scratch, offsets_[i]));
      inputs[i] = at(scratch, offsets_[i]);
    }
    void* result = round_ == 0 ? out[0] : at(scratch, result_);
    op_->run(pool, std::span(inputs, in.size()), std::span(&result, 1), at(scratch, inner_));
    if (round_ > 0) round(pool, round_, result, out[0]);
  }

 private:
  static constexpr size_t kInputs = 3;

  void widen(Pool& pool, int64_t count, const void* from, void* out) const {
    if (dtype_ == DType::bf16) return convert<Bf16, F32>(pool, count, from, out);
    convert<F16, F32>(pool, count, from, out);
  }

  void round(Pool& pool, int64_t count, const void* from, void* out) const {
    if (dtype_ == DType::bf16) return convert<F32, Bf16>(pool, count, from, out);
    convert<F32, F16>(pool, count, from, out);
  }

  std::unique_ptr<LibraryOp> op_;
  DType dtype_;
  std::vector<int64_t> widen_;
  int64_t round_;
  ScratchLayout scratch_;
  std::vector<size_t> offsets_;
  size_t result_ = 0, inner_ = 0;
};

}  // namespace

std::unique_ptr<LibraryOp> make_widened(std::unique_ptr<LibraryOp> op, DType dtype, std::vector<int64_t> widen,
                                        int64_t round) {
  return std::make_unique<WidenedOp>(std::move(op), dtype, std::move(widen), round);
}

}  // namespace kb
