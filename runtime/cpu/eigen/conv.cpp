// Convolution as a matmul for each sample and group. The rows of one matrix are the patches under the kernel, in the
// order (channel, tap) of canonical weights.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/eigen/gemm.h"
#include "runtime/cpu/library_parts.h"

namespace kb::eigen {

namespace {

// Returns where channel c of pixel 0 is in one sample in blocks of b; pixels are b apart.
int64_t channel_at(int64_t c, int64_t block, int64_t pixels) { return c / block * pixels * block + c % block; }

template <class T>
class ConvOp : public LibraryOp {
 public:
  ConvOp(const ConvSpec& spec, int shards)
      : spec_(spec),
        weights_(WeightLayout::plain(spec, spec.dtype)),
        pixels_(spec.out_h() * spec.out_w()),
        patch_(spec.c / spec.groups * spec.kh * spec.kw) {
    for (int s = 0; s < shards; ++s) {
      const int64_t first = shard_bound(spec.n, shards, s), end = shard_bound(spec.n, shards, s + 1);
      if (first == end) continue;
      Shard shard{first, end, scratch_.add(bytes(pixels_ * patch_)), scratch_.add(bytes(pixels_ * spec.o))};
      shards_.push_back(shard);
    }
    if (spec.kind == ConvKind::weight_grad) partials_ = scratch_.add(shards_.size() * weights_.bytes());
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return "eigen"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    each_shard(pool, std::ssize(shards_), [&](int64_t s) { run(s, in, out, scratch); });
    if (spec_.kind == ConvKind::weight_grad)
      sum_partials(pool, weights_, at(scratch, partials_), std::ssize(shards_), out[0]);
  }

 private:
  struct Shard {
    int64_t first, end;
    size_t patches, outputs;
  };

  static size_t bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(T); }

  void run(int64_t index, std::span<const void* const> in, std::span<void* const> out, void* scratch) const {
    const Shard& shard = shards_[index];
    T *patches = at<T>(scratch, shard.patches), *outputs = at<T>(scratch, shard.outputs);
    T* partial = at<T>(scratch, partials_ + index * weights_.bytes());
    const int64_t x_step = spec_.c * spec_.h * spec_.w, y_step = spec_.o * pixels_;
    for (int64_t s = shard.first; s < shard.end; ++s) {
      const T* first = static_cast<const T*>(in[0]);
      if (spec_.kind == ConvKind::forward) {
        const T* bias = spec_.bias ? static_cast<const T*>(in[2]) : nullptr;
        forward(first + s * x_step, static_cast<const T*>(in[1]), bias, static_cast<T*>(out[0]) + s * y_step, patches,
                outputs);
      } else if (spec_.kind == ConvKind::input_grad) {
        input_grad(first + s * y_step, static_cast<const T*>(in[1]), static_cast<T*>(out[0]) + s * x_step, patches,
                   outputs);
      } else {
        const T* dy = static_cast<const T*>(in[1]) + s * y_step;
        weight_grad(first + s * x_step, dy, partial, patches, outputs, s > shard.first);
      }
    }
  }

  void forward(const T* x, const T* weights, const T* bias, T* y, T* patches, T* outputs) const {
    const int64_t width = spec_.o / spec_.groups;
    for (int64_t g = 0; g < spec_.groups; ++g) {
      gather(x, g, patches);
      gemm<T>(pixels_, width, patch_, {patches, patch_}, {weights + g * width * patch_, patch_, true},
              {outputs + g * width, spec_.o}, false);
    }
    for (int64_t o = 0; o < spec_.o; ++o) {
      T* to = y + channel_at(o, spec_.block_out, pixels_);
      for (int64_t p = 0; p < pixels_; ++p) {
        const T value = bias ? outputs[p * spec_.o + o] + bias[o] : outputs[p * spec_.o + o];
        to[p * spec_.block_out] = spec_.relu && value < 0 ? T(0) : value;
      }
    }
  }

  void input_grad(const T* dy, const T* weights, T* dx, T* patches, T* outputs) const {
    const int64_t width = spec_.o / spec_.groups;
    std::fill_n(dx, spec_.c * spec_.h * spec_.w, T(0));
    load_outputs(dy, outputs);
    for (int64_t g = 0; g < spec_.groups; ++g) {
      gemm<T>(pixels_, patch_, width, {outputs + g * width, spec_.o}, {weights + g * width * patch_, patch_},
              {patches, patch_}, false);
      each_tap(g, [&](int64_t column, int64_t place, int64_t pixel) { dx[place] += patches[pixel * patch_ + column]; });
    }
  }

  void weight_grad(const T* x, const T* dy, T* partial, T* patches, T* outputs, bool accumulate) const {
    const int64_t width = spec_.o / spec_.groups;
    load_outputs(dy, outputs);
    for (int64_t g = 0; g < spec_.groups; ++g) {
      gather(x, g, patches);
      gemm<T>(width, patch_, pixels_, {outputs + g * width, spec_.o, true}, {patches, patch_},
              {partial + g * width * patch_, patch_}, accumulate);
    }
  }

  // Loads the dy of one sample as (pixels, O).
  void load_outputs(const T* dy, T* outputs) const {
    const Relayout relayout{.channels = spec_.o,
                            .from = spec_.block_out,
                            .to = spec_.o,
                            .h = spec_.out_h(),
                            .w = spec_.out_w(),
                            .element = sizeof(T)};
    relayout.run(1, dy, outputs);
  }

  void gather(const T* x, int64_t group, T* patches) const {
    std::fill_n(patches, pixels_ * patch_, T(0));
    each_tap(group, [&](int64_t column, int64_t place, int64_t pixel) { patches[pixel * patch_ + column] = x[place]; });
  }

  // Calls visit(column of the patch, place in x, output pixel) for every tap that falls inside the input.
  template <class F>
  void each_tap(int64_t group, F visit) const {
    const int64_t channels = spec_.c / spec_.groups, plane = spec_.h * spec_.w, out_w = spec_.out_w();
    for (int64_t column = 0; column < patch_; ++column) {
      const int64_t tap = column % (spec_.kh * spec_.kw);
      const int64_t c = group * channels + column / (spec_.kh * spec_.kw);
      const int64_t base = channel_at(c, spec_.block_in, plane);
      for (int64_t i = 0; i < spec_.out_h(); ++i) {
        const int64_t y = i * spec_.stride[0] - spec_.padding[0] + tap / spec_.kw * spec_.dilation[0];
        if (y < 0 || y >= spec_.h) continue;
        for (int64_t j = 0; j < out_w; ++j) {
          const int64_t x = j * spec_.stride[1] - spec_.padding[1] + tap % spec_.kw * spec_.dilation[1];
          if (x < 0 || x >= spec_.w) continue;
          visit(column, base + (y * spec_.w + x) * spec_.block_in, i * out_w + j);
        }
      }
    }
  }

  ConvSpec spec_;
  WeightLayout weights_;
  int64_t pixels_, patch_;
  ScratchLayout scratch_;
  std::vector<Shard> shards_;
  size_t partials_ = 0;
};

}  // namespace

std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards) {
  prepare();
#ifdef KB_EIGEN_F32
  if (spec.dtype == DType::f32) return std::make_unique<ConvOp<float>>(spec, shards);
#endif
  ensure(spec.dtype == DType::f64, "Eigen: a dtype that it does not compute in");
  return std::make_unique<ConvOp<double>>(spec, shards);
}

}  // namespace kb::eigen
