// layout: takes a graph in logical order; leaves one in which a tensor's shape is its physical row-major shape. It
// stands after precision (the choice depends on the dtype) and before recompute and fuse, which then see every
// transposition as a node.
//
// Convolutions ask for the layout of compiler/passes/layout_table.h, the same kind on both sides; point-wise ops,
// reductions, pooling, slices and pads follow their input; all else asks for logical order. A value is brought to
// another layout at its first reader that wants it, once; one that follows from no image, as a mask of random bits
// does, is made in each layout. Weights of convolutions go through pack_weights where the library keeps a format of its
// own; on a GPU they are transposed to (O, H, W, I), in which their gradients leave the library too.
#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/passes/layout_parts.h"
#include "compiler/passes/layout_table.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "graph/image_layout.h"

namespace kb {
namespace {

class LayoutPass : Rewriter {
 public:
  LayoutPass(const Graph& from, const Target& target)
      : Rewriter(from),
        target_(target),
        ids_(from),
        readers_(readers_of(from)),
        native_(static_cast<size_t>(ids_.size())),
        others_(native_.size()) {}

  Graph run() {
    const std::vector<uint8_t> is_needed = needed();
    for (int32_t n = 0; n < from_.size(); ++n)
      if (is_needed[static_cast<size_t>(n)]) visit(n);
    for (const Output& output : from_.outputs) replace(output.value, get(output.value, {}));
    for (const StateWrite& write : from_.writes) replace(write.value, get(write.value, {}));
    return without_unused(finish());
  }

 private:
  const Dims& shape_of(Value v) const { return from_.type(v).shape; }
  bool is_image(Value v, const ImageLayout& layout) const { return std::ssize(shape_of(v)) == layout.spatial + 2; }
  ImageLayout& native(Value v) { return native_[static_cast<size_t>(ids_(v))]; }

  Value reshape(const Node& like, Value v, Dims shape) {
    return to_.type(v).shape == shape
               ? v
               : add(like, Op::reshape, {v}, {{"shape", std::move(shape)}, {"names", std::string()}});
  }

  // ---- values in layouts ----

  // A transposition that moves only axes of extent 1 is a reshape.
  Value permute(const Node& like, Value v, const Ints& perm) {
    const Dims& shape = to_.type(v).shape;
    Dims permuted;
    Ints moved;
    for (int64_t axis : perm) {
      permuted.push_back(shape[static_cast<size_t>(axis)]);
      if (permuted.back() != 1) moved.push_back(axis);
    }
    if (std::is_sorted(moved.begin(), moved.end())) return reshape(like, v, permuted);
    if (const Node& before = to_.node(v); before.op == Op::transpose && undoes(perm, before.attrs.ints("perm")))
      return before.inputs[0];
    return add(like, Op::transpose, {v}, {{"perm", perm}});
  }

  // Returns whether two transpositions, one after the other, leave every axis in its place.
  static bool undoes(const Ints& second, const Ints& first) {
    for (size_t i = 0; i < second.size(); ++i)
      if (first[static_cast<size_t>(second[i])] != static_cast<int64_t>(i)) return false;
    return true;
  }

  // Returns `v`, a value of the old graph, as a value of the new graph in `layout`.
  Value get(Value v, const ImageLayout& layout) {
    if (native(v) == layout) return map(v);
    for (const auto& [other, value] : others_[static_cast<size_t>(ids_(v))])
      if (other == layout) return value;
    Value fresh = make(v, layout);
    others_[static_cast<size_t>(ids_(v))].emplace_back(layout, fresh);
    return fresh;
  }

  Value make(Value v, const ImageLayout& layout) {
    const Node& node = from_.node(v);
    if (!layout.is_logical()) {
      if (node.op == Op::broadcast) return make_broadcast(node, layout);
      if (node.op == Op::random_bits) return make_random(node, layout);
      if (node.op == Op::constant && node.attrs.reals("values").size() == 1) {
        Attrs attrs = node.attrs;
        attrs.set("shape", layout.physical(node.type().shape));
        return add(node, Op::constant, {}, std::move(attrs));
      }
      if (is_pointwise(node.op) && is_generated(from_, v)) {
        std::vector<Value> inputs;
        for (const Value input : node.inputs) inputs.push_back(get(input, layout));
        return add(node, node.op, std::move(inputs), node.attrs);
      }
    }
    if (!native(v).is_logical() && !layout.is_logical())
      return from_logical(node, to_logical(node, v), layout, shape_of(v));
    return layout.is_logical() ? to_logical(node, v) : from_logical(node, map(v), layout, shape_of(v));
  }

  Value to_logical(const Node& like, Value v) {
    const ImageLayout& layout = native(v);
    if (layout.is_logical()) return map(v);
    return reshape(like, permute(like, map(v), layout.to_split()), shape_of(v));
  }

  Value from_logical(const Node& like, Value v, const ImageLayout& layout, const Dims& shape) {
    return permute(like, reshape(like, v, layout.split(shape)), layout.from_split());
  }

  Value make_broadcast(const Node& node, const ImageLayout& layout) {
    Value x = get(node.inputs[0], {});
    const Dims& extents = shape_of(node.inputs[0]);
    const Ints& axes = node.attrs.ints("axes");
    Dims shape;
    Ints physical;
    for (size_t i = 0; i < extents.size(); ++i) {
      Ints parts = layout.axes_of(axes[i]);
      if (parts.size() == 2) {
        shape.insert(shape.end(),
                     {extents[i] == 1 ? 1 : extents[i] / layout.block, extents[i] == 1 ? 1 : layout.block});
      } else {
        shape.push_back(extents[i]);
      }
      physical.insert(physical.end(), parts.begin(), parts.end());
    }
    auto [sorted, perm] = sorted_axes(physical);
    Value split = reshape(node, x, shape);
    split = permute(node, split, perm);
    return add(node, Op::broadcast, {split}, {{"shape", layout.physical(node.type().shape)}, {"axes", sorted}});
  }

  static std::pair<Ints, Ints> sorted_axes(const Ints& axes) {
    Ints perm(axes.size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    std::sort(perm.begin(), perm.end(),
              [&](int64_t a, int64_t b) { return axes[static_cast<size_t>(a)] < axes[static_cast<size_t>(b)]; });
    Ints sorted;
    for (int64_t p : perm) sorted.push_back(axes[static_cast<size_t>(p)]);
    return {sorted, perm};
  }

  Value make_random(const Node& node, const ImageLayout& layout) {
    Ints steps = node.attrs.ints("strides");
    steps[0] = 0;  // 0: random numbers count the samples separately
    Attrs attrs = node.attrs;
    attrs.set("shape", layout.physical(node.type().shape));
    attrs.set("strides", layout.strides(steps));
    std::vector<Value> inputs;
    for (Value input : node.inputs) inputs.push_back(get(input, {}));
    return add(node, Op::random_bits, std::move(inputs), std::move(attrs));
  }

  // ---- nodes ----

  void visit(int32_t n) {
    const Node& node = from_.node(n);
    switch (info(node.op).cls) {
      case OpClass::pointwise:
        return follow(n, layout_of_inputs(node));
      case OpClass::marker:
        return follow(n, native(node.inputs[0]));
      case OpClass::reduction:
        return reduce(n);
      case OpClass::window:
        return window(n);
      case OpClass::library:
        return library(n);
      case OpClass::movement:
        if (node.op == Op::slice || node.op == Op::pad) return cut(n);
        if (node.op == Op::concat) return join(n);
        if (node.op == Op::reshape) return reshape_image(n);
        if (node.op == Op::transpose) return transpose_image(n);
        return plain(n);
      default:
        return plain(n);
    }
  }

  void plain(int32_t n) { from_.node(n).op == Op::variable ? copy(n) : follow(n, {}); }

  static Ints spatial_axes(const ImageLayout& layout) {
    Ints axes(static_cast<size_t>(layout.spatial));
    std::iota(axes.begin(), axes.end(), 2);
    return axes;
  }

  ImageLayout layout_of_inputs(const Node& node) {
    for (Value input : node.inputs)
      if (!native(input).is_logical()) return native(input);
    return {};
  }

  // Copies the node with its inputs in `layout`, which its results then have too.
  void follow(int32_t n, const ImageLayout& layout, const Attrs* attrs = nullptr) {
    Node node = from_.node(n);
    for (Value& input : node.inputs) input = get(input, is_image(input, layout) ? layout : ImageLayout{});
    if (attrs) node.attrs = *attrs;
    replace_outputs(n, layout.is_logical()
                           ? to_.append(from_, std::move(node))
                           : add(from_.node(n), node.op, std::move(node.inputs), std::move(node.attrs)).node);
    for (int32_t out = 0; out < std::ssize(from_.node(n).outputs); ++out)
      if (is_image({n, out}, layout)) native({n, out}) = layout;
  }

  // Reduces in the input's layout if the channel axis is kept whole or reduced whole.
  void reduce(int32_t n) {
    const Node& node = from_.node(n);
    const ImageLayout layout = native(node.inputs[0]);
    if (layout.is_logical() || node.op == Op::argmax) return follow(n, {});
    const Ints& axes = node.attrs.ints("axes");
    const auto reduced = [&](int64_t axis) { return std::ranges::count(axes, axis) > 0; };
    if (!reduced(1) && !std::ranges::all_of(spatial_axes(layout), reduced)) return follow(n, {});
    Attrs attrs = node.attrs;
    attrs.set("axes", physical_axes(layout, axes));
    int32_t fresh = add(node, node.op, {get(node.inputs[0], layout)}, std::move(attrs)).node;
    for (int32_t out = 0; out < static_cast<int32_t>(node.outputs.size()); ++out)
      replace({n, out}, reshape(node, {fresh, out}, node.type(out).shape));
  }

  void window(int32_t n) {
    ImageLayout layout = layout_of_inputs(from_.node(n));
    const Ints& axes = from_.node(n).attrs.ints("axes");
    if (layout.is_logical() || axes != spatial_axes(layout)) return follow(n, {});
    Attrs attrs = from_.node(n).attrs;
    attrs.set("axes", physical_axes(layout, axes));
    follow(n, layout, &attrs);
  }

  void cut(int32_t n) {
    const Node& node = from_.node(n);
    const ImageLayout layout = native(node.inputs[0]), to = layout_with(layout, node.type());
    const std::optional<Attrs> attrs = cut_attrs(node, layout, to);
    if (!attrs) return follow(n, {});
    place_image(n, add(node, node.op, {get(node.inputs[0], layout)}, *attrs), to);
  }

  // A concatenation of images lies as its parts do.
  void join(int32_t n) {
    const Node& node = from_.node(n);
    const ImageLayout first = layout_of_inputs(node), to = layout_with(first, node.type());
    if (to.is_logical()) return follow(n, {});
    const int64_t axis = node.attrs.integer("axis");
    std::vector<Value> parts;
    for (const Value part : node.inputs) {
      const ImageLayout from = layout_of_part(to, shape_of(part)[1]);
      if (from.is_logical()) return follow(n, {});
      parts.push_back(get(part, from));
      if (to.blocked()) parts.back() = reshape(node, parts.back(), to.physical(shape_of(part)));
    }
    place_image(n, add(node, Op::concat, std::move(parts), {{"axis", to.axes_of(axis).front()}}), to);
  }

  // Returns the layout of an image that is made of one in `layout`.
  ImageLayout layout_with(const ImageLayout& layout, const Type& type) const {
    if (layout.is_logical() || type.shape[1] == layout.channels) return layout;
    return wanted(type.dtype, type.shape[1], layout.spatial);
  }

  void place_image(int32_t n, Value fresh, const ImageLayout& layout) {
    replace({n, 0}, reshape(from_.node(n), fresh, layout.physical(from_.node(n).type().shape)));
    native({n, 0}) = layout;
  }

  // A reshape that only adds or drops spatial axes of extent 1, as 1-D convolutions do, leaves an image where it lies.
  void reshape_image(int32_t n) {
    const Value x = from_.node(n).inputs[0];
    const Dims& shape = from_.node(n).type().shape;
    ImageLayout layout = native(x);
    if (layout.is_logical() || !is_same_image(shape_of(x), shape)) return follow(n, {});
    layout.spatial = std::ssize(shape) - 2;
    replace({n, 0}, reshape(from_.node(n), map(x), layout.physical(shape)));
    native({n, 0}) = layout;
  }

  // A transposition to the order in which an image lies is a view of it.
  void transpose_image(int32_t n) {
    const Value x = from_.node(n).inputs[0];
    const ImageLayout& layout = native(x);
    if (layout.is_logical() || layout.from_split() != from_.node(n).attrs.ints("perm")) return follow(n, {});
    replace({n, 0}, map(x));
  }

  // ---- convolutions ----

  ImageLayout wanted(DType dtype, int64_t channels, int64_t spatial) const {
    return {channel_block(target_, dtype, channels), channels, spatial};
  }

  // Returns the layouts of a convolution's two images. The library's fast kernels want both in blocks or both channels
  // last, so that an image whose channels are no whole blocks brings the other one to its side. Photographs, of three
  // channels at most, stay in logical order, in which they come.
  std::pair<ImageLayout, ImageLayout> layouts_of(DType dtype, int64_t channels_in, int64_t channels_out,
                                                 int64_t spatial) const {
    const ImageLayout in = wanted(dtype, channels_in, spatial), out = wanted(dtype, channels_out, spatial);
    const bool alike = in.block == out.block || (in.channels_last() && out.channels_last());
    if (alike || channels_in <= 3) return {in, out};
    return {{channels_in, channels_in, spatial}, {channels_out, channels_out, spatial}};
  }

  void library(int32_t n) {
    const Node& node = from_.node(n);
    if (node.op == Op::conv2d) return convolution(n, shape_of(node.inputs[0])[1], node.type().shape[1], "forward");
    if (node.op == Op::conv2d_input_grad)
      return convolution(n, node.type().shape[1], shape_of(node.inputs[0])[1], "input_grad");
    if (node.op == Op::conv2d_weight_grad)
      return convolution(n, shape_of(node.inputs[0])[1], shape_of(node.inputs[1])[1], "");
    follow(n, {});
  }

  // `usage` names the packed weights' reader; empty for the weight gradient, which reads none.
  void convolution(int32_t n, int64_t channels_in, int64_t channels_out, const char* usage) {
    const Node& node = from_.node(n);
    DType dtype = from_.type(node.inputs[0]).dtype;
    const auto spatial = std::ssize(node.attrs.ints("stride"));
    const auto [in, out] = layouts_of(dtype, channels_in, channels_out, spatial);
    Attrs attrs = node.attrs;
    if (in.block > 0) attrs.set("block_in", in.block);
    if (out.block > 0) attrs.set("block_out", out.block);
    bool forward = node.op == Op::conv2d, weights = node.op == Op::conv2d_weight_grad;
    const Dims& bank = weights ? node.type().shape : shape_of(node.inputs[1]);
    const ImageLayout filters{weights_last(target_) ? bank[1] : 0, bank[1], spatial};
    if (!filters.is_logical()) attrs.set("weights_last", int64_t{1});
    std::vector<Value> inputs{get(node.inputs[0], forward || weights ? in : out)};
    if (weights) {
      inputs.push_back(get(node.inputs[1], out));
    } else {
      Value w = get(node.inputs[1], filters);
      Value packed = pack(node, w, attrs, usage);
      if (packed.valid()) attrs.set("packed", int64_t{1});
      inputs.push_back(packed.valid() ? packed : w);
    }
    int32_t fresh = add(node, node.op, std::move(inputs), std::move(attrs)).node;
    replace({n, 0}, {fresh, 0});
    native({n, 0}) = weights ? filters : forward ? out : in;
    if (!weights || is_stored_so(n, filters)) return;
    // The gradient is brought to logical order here and not at its reader, which stands after the whole backward pass,
    // so that the all-reduce of its bucket can start early.
    replace({n, 0}, to_logical(node, {n, 0}));
    native({n, 0}) = {};
  }

  // Returns whether what reads a weight gradient at last, behind casts and sums over workers, wants it in this order.
  bool is_stored_so(int32_t n, const ImageLayout& filters) const {
    while (readers_[static_cast<size_t>(n)].size() == 1) {
      n = readers_[static_cast<size_t>(n)].front();
      const Op op = from_.node(n).op;
      if (op == Op::transpose) return !filters.is_logical() && from_.node(n).attrs.ints("perm") == filters.from_split();
      if (op != Op::cast && info(op).cls != OpClass::marker) return false;
    }
    return false;
  }

  Value pack(const Node& conv, Value weight, Attrs attrs, const char* usage) {
    if (!target_.library) return {};
    const Dims& x_shape = conv.op == Op::conv2d ? shape_of(conv.inputs[0]) : conv.type().shape;
    attrs.set("usage", std::string(usage));
    attrs.set("x_shape", x_shape);
    Node probe{Op::pack_weights, {weight}, attrs, {to_.type(weight)}, 0, -1};
    if (target_.library->packed_bytes(to_, probe) == 0) return {};
    return add(conv, Op::pack_weights, {weight}, std::move(attrs));
  }

  const Target& target_;
  ValueIds ids_;
  std::vector<std::vector<int32_t>> readers_;                       // nodes that read each old node
  std::vector<ImageLayout> native_;                                 // index: old value
  std::vector<std::vector<std::pair<ImageLayout, Value>>> others_;  // the same value in other layouts
};

}  // namespace

Graph apply_layout(Graph graph, CompileState& state) { return LayoutPass(graph, state.options.target).run(); }

}  // namespace kb
