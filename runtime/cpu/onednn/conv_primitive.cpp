#include "runtime/cpu/onednn/conv_primitive.h"

#include <algorithm>

#include "graph/error.h"
#include "runtime/cpu/onednn/version.h"

namespace kb::onednn {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// The n for which the form of packed weights is chosen: programs that differ in n share packed weights.
constexpr int64_t kTypicalSamples = 8;

// Returns the names that oneDNN has for one memory layout. If one block of 8 or 16 has all channels, NHWC and blocked
// are equal; with one channel NHWC and NCHW are.
std::vector<Tag> names(int64_t channels, int64_t block) {
  std::vector<Tag> names;
  if (block == 8) names.push_back(Tag::nChw8c);
  if (block == 16) names.push_back(Tag::nChw16c);
  if (block == channels) names.push_back(Tag::nhwc);
  if (block == 1) names.push_back(Tag::nchw);
  ensure(!names.empty(), "convolution: a block that oneDNN does not know");
  return names;
}

struct Descs {
  memory::desc source, weights, bias, result;
  memory::dims stride, dilation, padding, padding_end;
};

// The gradients of weights are f32 for tensors of any dtype.
DType weight_dtype(const ConvSpec& s) { return s.kind == ConvKind::weight_grad ? DType::f32 : s.dtype; }

memory::desc any_weights(const ConvSpec& s) {
  memory::dims dims{s.o / s.groups, s.c / s.groups, s.kh, s.kw};
  if (s.groups > 1) dims.insert(dims.begin(), s.groups);
  return {dims, data_type(weight_dtype(s)), Tag::any};
}

Descs describe(const ConvSpec& s, Tags tags, const memory::desc* weights) {
  const auto type = data_type(s.dtype);
  Descs d;
  d.source = {{s.n, s.c, s.h, s.w}, type, tags.source};
  d.result = {{s.n, s.o, s.out_h(), s.out_w()}, type, tags.result};
  d.weights = weights ? *weights : any_weights(s);
  if (s.bias) d.bias = {{s.o}, memory::data_type::f32, Tag::x};
  d.stride = {s.stride[0], s.stride[1]};
  d.dilation = {s.dilation[0] - 1, s.dilation[1] - 1};
  d.padding = {s.padding[0], s.padding[1]};
  // The number of rows and columns by which the last taps reach beyond the input; it is negative if the stride leaves
  // some unread.
  d.padding_end = {(s.out_h() - 1) * s.stride[0] + s.dilation[0] * (s.kh - 1) + 1 - s.h - s.padding[0],
                   (s.out_w() - 1) * s.stride[1] + s.dilation[1] * (s.kw - 1) + 1 - s.w - s.padding[1]};
  return d;
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward_desc(Engine& engine, const ConvSpec& s, const Descs& d) {
  using Forward = dnnl::convolution_forward;
  const auto prop = dnnl::prop_kind::forward_training;
  const dnnl::primitive_attr attr = attributes();
  if (!s.bias)
    return primitive_desc<Forward>(engine.engine, attr, prop, kDirect, d.source, d.weights, d.result, d.stride,
                                   d.dilation, d.padding, d.padding_end);
  return primitive_desc<Forward>(engine.engine, attr, prop, kDirect, d.source, d.weights, d.bias, d.result, d.stride,
                                 d.dilation, d.padding, d.padding_end);
}

// Returns a forward description, which oneDNN wants as a hint for gradients; the form of its weights does not matter.
dnnl::convolution_forward::primitive_desc hint(Engine& engine, ConvSpec spec, const Descs& d) {
  spec.kind = ConvKind::forward;
  Descs forward = d;
  forward.weights = any_weights(spec);
  return forward_desc(engine, spec, forward);
}

template <class Gradient>
typename Gradient::primitive_desc grad_desc(Engine& engine, const ConvSpec& s, const Descs& d) {
  return gradient_desc<Gradient>(engine.engine, attributes(), hint(engine, s, d), kDirect, d.source, d.weights,
                                 d.result, d.stride, d.dilation, d.padding, d.padding_end);
}

template <class P, class D>
void fill(Primitive& made, const D& desc, const Descs& d, bool create) {
  made.implementation = desc.impl_info_str();
  made.source = d.source;
  made.bias = d.bias;
  made.result = d.result;
  made.scratchpad = desc.scratchpad_desc();
  made.scratch = made.scratchpad.get_size();
  if (create) made.primitive = P(desc);
}

// Makes a primitive; if `create` is false, everything but its code.
std::shared_ptr<Primitive> make(Engine& engine, const ConvSpec& spec, Tags tags, const memory::desc* weights,
                                bool create) {
  OneThread one;
  const Descs d = describe(spec, tags, weights);
  auto made = std::make_shared<Primitive>();
  if (spec.kind == ConvKind::forward) {
    const auto desc = forward_desc(engine, spec, d);
    fill<dnnl::convolution_forward>(*made, desc, d, create);
    made->weights = desc.weights_desc();
  } else if (spec.kind == ConvKind::input_grad) {
    const auto desc = grad_desc<dnnl::convolution_backward_data>(engine, spec, d);
    fill<dnnl::convolution_backward_data>(*made, desc, d, create);
    made->weights = desc.weights_desc();
  } else {
    const auto desc = grad_desc<dnnl::convolution_backward_weights>(engine, spec, d);
    fill<dnnl::convolution_backward_weights>(*made, desc, d, create);
    made->weights = desc.diff_weights_desc();
  }
  return made;
}

ConvSpec without_relu(ConvSpec spec) {
  spec.relu = false;
  return spec;
}

// Returns the spec that stands for all plans that differ from it in n and epilogue alone.
ConvSpec typical(ConvSpec spec) {
  spec.n = kTypicalSamples;
  spec.bias = spec.relu = false;
  return spec;
}

// Returns 0 for a fast implementation, 1 for patches and a matmul, 2 for plain loops, which are a hundred times slower.
int slowness(const std::string& implementation) {
  if (implementation.starts_with("ref")) return 2;
  return implementation.find("gemm") == std::string::npos ? 0 : 1;
}

// Returns the best names for the layouts of `spec`, and the weights' form that goes with them.
const Choice& choose(Engine& engine, const ConvSpec& spec) {
  const ConvSpec common = typical(spec);
  const auto [found, fresh] = engine.choices.try_emplace(common);
  Choice& best = found->second;
  if (!fresh) return best;
  best.slowness = 3;
  for (const Tag source : names(spec.c, spec.block_in)) {
    for (const Tag result : names(spec.o, spec.block_out)) {
      const auto made = make(engine, common, {source, result}, nullptr, false);
      const int level = slowness(made->implementation);
      if (level < best.slowness) best = {{source, result}, made->weights, level};
    }
  }
  return best;
}

}  // namespace

std::shared_ptr<const Primitive> conv_primitive(Engine& engine, const ConvSpec& spec, const memory::desc* weights) {
  const Choice& choice = choose(engine, spec);
  if (spec.kind != ConvKind::weight_grad) weights = &choice.weights;
  std::shared_ptr<const Primitive>& found = engine.convolutions[without_relu(spec)];
  if (found && (!weights || found->weights == *weights)) return found;
  const auto made = make(engine, spec, choice.tags, weights, true);
  if (spec.kind == ConvKind::forward) {
    ConvSpec other = spec;
    other.bias = !spec.bias;
    made->scratch = std::max(made->scratch, make(engine, other, choice.tags, weights, false)->scratch);
  }
  return found = made;
}

Detour plan_detour(Engine& engine, const ConvSpec& spec) {
  Detour detour{.spec = spec};
  const bool nhwc = spec.block_in == spec.c && spec.block_out == spec.o;
  const bool strided = spec.stride[0] > 1 || spec.stride[1] > 1;
  const bool padded = spec.padding[0] > 0 || spec.padding[1] > 0;
  if (spec.kind == ConvKind::weight_grad && nhwc && spec.kh * spec.kw == 1 && strided && !padded) {
    // Only the pixels under the stride count, and with these alone this is a convolution of stride 1. oneDNN 2.6
    // gathers them itself, and writes past its buffer if there are few input channels.
    detour.input = true;
    detour.spec.h = spec.out_h();
    detour.spec.w = spec.out_w();
    detour.spec.stride[0] = detour.spec.stride[1] = 1;
    return detour;
  }
  if (nhwc || choose(engine, spec).slowness < 2) return detour;
  ConvSpec plain = spec;
  plain.block_in = spec.c;
  plain.block_out = spec.o;
  if (choose(engine, plain).slowness == 2) return detour;
  return {.spec = plain, .input = spec.block_in != spec.c, .output = spec.block_out != spec.o};
}

WeightLayout describe(const ConvSpec& spec, const memory::desc& desc) {
  WeightLayout layout = WeightLayout::extents(spec, weight_dtype(spec));
  layout.elements = static_cast<int64_t>(desc.get_size()) / size_of(layout.dtype);

  const Blocking blocking = blocking_of(desc);
  // Returns the term that index `i` of dimension `d` adds to a place: its digits in the inner blocks, last block first,
  // then the outer stride.
  const auto place = [&](int d, int64_t i) {
    int64_t sum = 0, inner = 1;
    for (size_t b = blocking.inner_blocks.size(); b-- > 0;) {
      if (blocking.inner_axes[b] == d) {
        sum += i % blocking.inner_blocks[b] * inner;
        i /= blocking.inner_blocks[b];
      }
      inner *= blocking.inner_blocks[b];
    }
    return sum + i * blocking.strides[d];
  };
  const auto all = [&](int d) { return places(blocking.padded[d], [&](int64_t i) { return place(d, i); }); };
  const int first = spec.groups > 1 ? 1 : 0;
  layout.group_at = first ? all(0) : std::vector<int64_t>{0};
  layout.output_at = all(first);
  layout.input_at = all(first + 1);
  for (const int64_t row : all(first + 2))
    for (const int64_t column : all(first + 3)) layout.tap_at.push_back(row + column);
  return layout;
}

WeightLayout weight_layout(Engine& engine, const ConvSpec& spec) {
  ConvSpec common = typical(spec);
  common = plan_detour(engine, common).spec;
  return describe(common, choose(engine, common).weights);
}

}  // namespace kb::onednn
