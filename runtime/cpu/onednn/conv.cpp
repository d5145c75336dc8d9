#include <cstring>

#include "runtime/cpu/onednn/conv_primitive.h"

namespace kb::onednn {

namespace {

// Returns whether every tap of an axis meets an input of some output.
bool every_tap_meets_input(const ConvSpec& s, int axis) {
  const int64_t taps = axis == 0 ? s.kh : s.kw, inputs = axis == 0 ? s.h : s.w,
                outputs = axis == 0 ? s.out_h() : s.out_w();
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t first = tap * s.dilation[axis] - s.padding[axis];  // the input that it joins with output 0
    int64_t output = 0;
    while (output < outputs && (first + output * s.stride[axis] < 0 || first + output * s.stride[axis] >= inputs))
      ++output;
    if (output == outputs) return false;
  }
  return true;
}

class ConvOp : public LibraryOp {
 public:
  ConvOp(Engine& engine, const ConvSpec& spec, int shards)
      : spec_(spec),
        detour_(plan_detour(engine, spec)),
        element_(static_cast<size_t>(size_of(spec.dtype))),
        reads_own_(spec.kind == ConvKind::weight_grad &&
                   !(every_tap_meets_input(spec, 0) && every_tap_meets_input(spec, 1))) {
    ConvSpec part = detour_.spec;
    part.n = spec.n - shard_bound(spec.n, shards, shards - 1);  // the largest
    const bool grad = spec.kind == ConvKind::weight_grad;
    const dnnl::memory::desc weights = conv_primitive(engine, part)->weights;
    if (grad) gradient_ = describe(part, weights);
    for (int s = 0; s < shards; ++s) {
      const int64_t first = shard_bound(spec.n, shards, s);
      part.n = shard_bound(spec.n, shards, s + 1) - first;
      if (part.n > 0) add_shard(engine, first, part.n, conv_primitive(engine, part, grad ? &weights : nullptr));
    }
    if (grad) partials_ = scratch_.add(gradient_.bytes() * shards_.size());
    implementation_ = shards_.back().call.primitive().implementation;
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return implementation_; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    each_shard(pool, std::ssize(shards_), [&](int64_t s) { run(s, in, out[0], scratch); });
    if (spec_.kind == ConvKind::weight_grad)
      sum_partials(pool, gradient_, at(scratch, partials_), std::ssize(shards_), out[0]);
  }

 private:
  struct Shard {
    int64_t first, count;
    size_t own, input, output;  // offsets in scratch: oneDNN's own, and those of the tensors in another layout
    size_t own_bytes;
    Call call;
  };

  // Describes the change from the caller's layout of the tensor with c (or o) channels to the layout that oneDNN gets.
  Relayout input_change() const {
    return {spec_.c, spec_.block_in, detour_.spec.block_in, spec_.h, spec_.w, {input_step(0), input_step(1)}, element_};
  }
  Relayout output_change() const {
    return {spec_.o, spec_.block_out, detour_.spec.block_out, spec_.out_h(), spec_.out_w(), {1, 1}, element_};
  }
  int64_t input_step(int axis) const { return detour_.spec.stride[axis] == 1 ? spec_.stride[axis] : 1; }

  void add_shard(Engine& engine, int64_t first, int64_t count, std::shared_ptr<const Primitive> primitive) {
    Shard shard{first, count, scratch_.add(primitive->scratch), 0, 0, primitive->scratch, Call(engine, primitive)};
    if (detour_.input) shard.input = scratch_.add(input_change().out_bytes(count));
    if (detour_.output) shard.output = scratch_.add(output_change().out_bytes(count));
    const bool forward = spec_.kind == ConvKind::forward, input_grad = spec_.kind == ConvKind::input_grad;
    shard.call.add(input_grad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, primitive->source);
    shard.call.add(spec_.kind == ConvKind::weight_grad ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, primitive->weights);
    shard.call.add(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, primitive->result);
    shard.call.add(DNNL_ARG_SCRATCHPAD, primitive->scratchpad);
    if (spec_.bias) shard.call.add(DNNL_ARG_BIAS, primitive->bias);
    shards_.push_back(std::move(shard));
  }

  void run(int64_t index, std::span<const void* const> in, void* out, void* scratch) const {
    Shard& shard = shards_[index];
    const bool forward = spec_.kind == ConvKind::forward, input_grad = spec_.kind == ConvKind::input_grad;
    // x is the tensor with c channels and y that with o channels; either may be the output.
    const void* x = input_grad ? out : in[0];
    const void* y = forward ? out : in[input_grad ? 0 : 1];
    x = at(x, static_cast<size_t>(shard.first * spec_.c * spec_.h * spec_.w) * element_);
    y = at(y, static_cast<size_t>(shard.first * spec_.o * spec_.out_h() * spec_.out_w()) * element_);
    void* own_x = at(scratch, shard.input);
    void* own_y = at(scratch, shard.output);
    if (detour_.input && !input_grad) input_change().run(shard.count, x, own_x);
    if (detour_.output && !forward) output_change().run(shard.count, y, own_y);
    const void* weights =
        spec_.kind == ConvKind::weight_grad ? at(scratch, partials_ + index * gradient_.bytes()) : in[1];
    if (reads_own_) std::memset(at(scratch, shard.own), 0, shard.own_bytes);
    const void* call_x = detour_.input ? own_x : x;
    const void* call_y = detour_.output ? own_y : y;
    if (spec_.bias)
      shard.call.run({call_x, weights, call_y, at(scratch, shard.own), in[2]});
    else
      shard.call.run({call_x, weights, call_y, at(scratch, shard.own)});
    if (spec_.relu)
      relu_in_place(spec_.dtype, const_cast<void*>(call_y), shard.count * spec_.o * spec_.out_h() * spec_.out_w());
    if (detour_.input && input_grad) back(input_change()).run(shard.count, own_x, const_cast<void*>(x));
    if (detour_.output && forward) back(output_change()).run(shard.count, own_y, const_cast<void*>(y));
  }

  static Relayout back(Relayout change) {
    std::swap(change.from, change.to);
    return change;
  }

  ConvSpec spec_;
  Detour detour_;
  size_t element_;
  // oneDNN 2.6's gradients of weights in bf16 multiply by what they find in their own scratch memory for a tap that
  // meets no input. This memory has to be zeros then.
  bool reads_own_;
  ScratchLayout scratch_;
  WeightLayout gradient_;
  size_t partials_ = 0;
  std::string implementation_;
  mutable std::vector<Shard> shards_;  // mutable, since a call stores addresses in it
};

}  // namespace

std::unique_ptr<LibraryOp> plan_conv(Engine& engine, const ConvSpec& spec, int shards) {
  return std::make_unique<ConvOp>(engine, spec, shards);
}

}  // namespace kb::onednn
