#include <algorithm>

#include "graph/image_layout.h"
#include "graph/infer_rules.h"

namespace kb {
namespace {

constexpr int64_t kSpatial = 2;  // an image's axes besides samples and channels: [H, W]

std::string matmul_hint(const Type& a, const Type& b, bool transpose_a, bool transpose_b) {
  const auto extent = [](const Type& x, bool last) { return x.shape[x.shape.size() - (last ? 1 : 2)]; };
  if (extent(a, !transpose_a) == extent(b, !transpose_b))
    return "transpose_b = " + std::string(transpose_b ? "false" : "true");
  if (extent(a, transpose_a) == extent(b, transpose_b))
    return "transpose_a = " + std::string(transpose_a ? "false" : "true");
  return "";
}

Type infer_matmul(std::span<const Type> in, const Attrs& attrs) {
  const Type &a = in[0], &b = in[1];
  const bool ta = attrs.integer("transpose_a") != 0, tb = attrs.integer("transpose_b") != 0;
  if (a.rank() < 2 || b.rank() < 2)
    throw Mistake{"an operand is no matrix", "two axes or more each", operands_text(in), "reshape(x, {1, -1})"};
  check_float(a, "cast(a, DType::f32)");
  check_same_dtype(in);
  const size_t ra = a.shape.size(), rb = b.shape.size();
  const int64_t rows = a.shape[ra - (ta ? 1 : 2)], inner = a.shape[ra - (ta ? 2 : 1)];
  const int64_t inner_b = b.shape[rb - (tb ? 1 : 2)], columns = b.shape[rb - (tb ? 2 : 1)];
  if (inner != inner_b)
    throw Mistake{"inner dimensions differ",
                  tb ? "b [..., M, K=" + std::to_string(inner) + "]" : "b [..., K=" + std::to_string(inner) + ", M]",
                  operands_text(in) + (ta ? ", a transposed" : "") + (tb ? ", b transposed" : ""),
                  matmul_hint(a, b, ta, tb)};
  if (!std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin(), b.shape.end() - 2))
    throw Mistake{"leading dimensions differ", "equal leading dimensions, or 1", operands_text(in), ""};
  const DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : a.dtype;
  if (dtype != a.dtype && !(dtype == DType::f32 && is_low_precision(a.dtype)))
    throw Mistake{"the result is of another dtype", "that of the operands, or f32 of bf16 and f16", to_string(a), ""};
  Type result{dtype, Dims(a.shape.begin(), a.shape.end() - 2), ""};
  if (!a.names.empty())
    result.names = a.names.substr(0, ra - 2) + letter(a, static_cast<int64_t>(ra - (ta ? 1 : 2))) + "_";
  result.shape.push_back(rows);
  result.shape.push_back(columns);
  return result;
}

// The extents of an image tensor in logical order.
struct Image {
  int64_t n, c;
  Ints size;
};

Image read_image(const Type& x, int64_t block, const char* role) {
  const std::optional<ImageLayout> layout = image_layout(x.shape, block, kSpatial);
  if (!layout)
    throw Mistake{std::string(role) + " is no image",
                  block == 0 ? "[N, C, H, W]" : "[N, H, W, C] or [N, C/b, H, W, b] with b = " + std::to_string(block),
                  shape_text(x), block == 0 ? "reshape it to four axes" : ""};
  const Dims shape = layout->logical(x.shape);
  return {shape[0], shape[1], {shape.begin() + 2, shape.end()}};
}

Type write_image(DType dtype, const Image& image, int64_t block) {
  if (block != 0 && (block < 1 || image.c % block != 0))
    throw Mistake{"blocks do not divide the channels", "a divisor of " + std::to_string(image.c), std::to_string(block),
                  ""};
  const ImageLayout layout{block, image.c, kSpatial};
  Dims shape{image.n, image.c};
  shape.insert(shape.end(), image.size.begin(), image.size.end());
  return {dtype, layout.physical(shape), axis_names(layout, "NC")};
}

void check_groups(int64_t groups, int64_t in, int64_t out) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    throw Mistake{"groups do not divide the channels",
                  "a divisor of " + std::to_string(in) + " input and " + std::to_string(out) + " output channels",
                  std::to_string(groups) + " groups", ""};
}

void check_one_float(std::span<const Type> in) {
  check_float(in[0], "cast(x, DType::f32)");
  check_same_dtype(in);
}

// Returns the type of a filter bank in logical order, (O, I, H, W).
Type filter_type(const Type& w, const Attrs& attrs) {
  if (w.rank() != kSpatial + 2) throw Mistake{"the weight is no filter bank", "[O, I/groups, H, W]", shape_text(w), ""};
  return {w.dtype, filter_layout(w.shape, attrs.integer("weights_last", 0) != 0).logical(w.shape), w.names};
}

void check_weight(const Type& w, int64_t channels, int64_t groups) {
  check_groups(groups, channels, w.shape[0]);
  if (w.shape[1] != channels / groups)
    throw Mistake{"channels differ",
                  "a weight for C=" + std::to_string(channels) + " in " + std::to_string(groups) +
                      " group(s): [O, I=" + std::to_string(channels / groups) + ", H, W]",
                  shape_text(w), ""};
}

Type infer_conv2d(std::span<const Type> in, const Attrs& attrs) {
  const Type &x = in[0], w = filter_type(in[1], attrs);
  const Image image = read_image(x, attrs.integer("block_in", 0), "x");
  check_one_float(in);
  check_weight(w, image.c, attrs.integer("groups"));
  const WindowAttrs window = read_window(attrs, {w.shape[2], w.shape[3]});
  return write_image(x.dtype, {image.n, w.shape[0], windowed(image.size, window, x)}, attrs.integer("block_out", 0));
}

Type infer_input_grad(std::span<const Type> in, const Attrs& attrs) {
  const Type &dy = in[0], w = filter_type(in[1], attrs);
  const Image image = read_image(dy, attrs.integer("block_out", 0), "dy");
  check_one_float(in);
  check_weight(w, attrs.integer("channels"), attrs.integer("groups"));
  const WindowAttrs window = read_window(attrs, {w.shape[2], w.shape[3]});
  const Image x{image.n, attrs.integer("channels"), attrs.ints("input_size")};
  if (x.size.size() != 2) throw Mistake{"wrong number of extents", "input_size [H, W]", ints_text(x.size), ""};
  const Type result = write_image(dy.dtype, x, attrs.integer("block_in", 0));
  const Ints fits = windowed(x.size, window, result);
  if (image.c != w.shape[0] || fits != image.size)
    throw Mistake{"dy does not fit", "C=" + std::to_string(w.shape[0]) + ", [H, W]=" + ints_text(fits), shape_text(dy),
                  ""};
  return result;
}

Type infer_weight_grad(std::span<const Type> inputs, const Attrs& attrs) {
  const Type &x = inputs[0], &dy = inputs[1];
  const Image in = read_image(x, attrs.integer("block_in", 0), "x");
  const Image out = read_image(dy, attrs.integer("block_out", 0), "dy");
  check_one_float(inputs);
  const int64_t groups = attrs.integer("groups");
  check_groups(groups, in.c, out.c);
  const Ints& kernel = attrs.ints("kernel");
  const WindowAttrs window = read_window(attrs, kernel);
  const Ints fits = windowed(in.size, window, x);
  if (in.n != out.n || fits != out.size)
    throw Mistake{"dy does not fit", "N=" + std::to_string(in.n) + ", [H, W]=" + ints_text(fits), shape_text(dy), ""};
  const DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : arithmetic_dtype(x.dtype);
  if (dtype != x.dtype && !(dtype == DType::f32 && is_low_precision(x.dtype)))
    throw Mistake{"the result is of another dtype", "that of the operands, or f32 of bf16 and f16", to_string(x), ""};
  const int64_t fan = in.c / groups;
  const ImageLayout filters{attrs.integer("weights_last", 0) ? fan : 0, fan, kSpatial};
  Dims shape{out.c, fan};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return {dtype, filters.physical(shape), axis_names(filters, "OI")};
}

}  // namespace

std::vector<Type> infer_library(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::matmul) return {infer_matmul(in, attrs)};
  if (op == Op::conv2d) return {infer_conv2d(in, attrs)};
  if (op == Op::conv2d_input_grad) return {infer_input_grad(in, attrs)};
  if (op == Op::conv2d_weight_grad) return {infer_weight_grad(in, attrs)};
  if (op == Op::pack_weights) return {in[0]};
  if (op == Op::flash_attention) return infer_flash_attention(in, attrs);
  ensure(op == Op::flash_attention_grad, "infer: no rule for a library op");
  return infer_flash_attention_grad(in, attrs);
}

}  // namespace kb
