// The interpreter's matmul, and convolution with its two gradients, which one loop nest serves. A tensor in another
// layout is read through its logical order (N, C, H, W).
#include <algorithm>

#include "graph/image_layout.h"
#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Each element of the result is summed over k in ascending order; the order of the loops does not change that.
void matmul(const Work& work) {
  const Array &a = *work.in[0], &b = *work.in[1];
  Array& c = work.out[0];
  const size_t rank = c.type.shape.size();
  const bool ta = work.node.attrs.integer("transpose_a") != 0, tb = work.node.attrs.integer("transpose_b") != 0;
  const int64_t m = c.type.shape[rank - 2], n = c.type.shape[rank - 1], k = a.type.shape[rank - (ta ? 2 : 1)];
  const int64_t batches = m * n == 0 ? 0 : c.type.elements() / (m * n);
  const int64_t a_row = ta ? 1 : k, a_col = ta ? m : 1, b_row = tb ? 1 : n, b_col = tb ? k : 1;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const double *pa = a.data.data() + batch * m * k, *pb = b.data.data() + batch * k * n;
    double* pc = c.data.data() + batch * m * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < k; ++p) {
        const double factor = pa[i * a_row + p * a_col];
        for (int64_t j = 0; j < n; ++j) pc[i * n + j] += factor * pb[p * b_row + j * b_col];
      }
    }
  }
}

// Logical sizes of a convolution: x (n, groups * in, ih, iw), w (groups * out, in, kh, kw), y (n, groups * out, oh,
// ow).
struct Conv {
  int64_t n, groups, in, out, ih, iw, oh, ow, kh, kw;
  Ints stride, padding, dilation;
};

// Calls f(x position, w position, y position, length, x step) for every run of elements in a row of y that one weight
// multiplies into. The runs together meet each product x * w of the convolution once; for one element of y they come in
// order of (channel, kh, kw).
template <class F>
void for_each_run(const Conv& c, F&& f) {
  // Returns the range of outputs o with 0 <= o * stride - padding + k * dilation < extent.
  const auto valid = [](int64_t k, int64_t stride, int64_t padding, int64_t dilation, int64_t extent, int64_t outputs) {
    const int64_t shift = padding - k * dilation;
    const int64_t first = shift <= 0 ? 0 : (shift + stride - 1) / stride;
    const int64_t last = extent - 1 + shift < 0 ? -1 : (extent - 1 + shift) / stride;
    return std::pair{first, std::min(last, outputs - 1)};
  };
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t o = 0; o < c.groups * c.out; ++o)
      for (int64_t i = 0; i < c.in; ++i)
        for (int64_t kh = 0; kh < c.kh; ++kh)
          for (int64_t kw = 0; kw < c.kw; ++kw) {
            const auto [h0, h1] = valid(kh, c.stride[0], c.padding[0], c.dilation[0], c.ih, c.oh);
            const auto [w0, w1] = valid(kw, c.stride[1], c.padding[1], c.dilation[1], c.iw, c.ow);
            if (w1 < w0) continue;
            const int64_t channel = o / c.out * c.in + i;
            const int64_t column = w0 * c.stride[1] - c.padding[1] + kw * c.dilation[1];
            for (int64_t h = h0; h <= h1; ++h) {
              const int64_t row = h * c.stride[0] - c.padding[0] + kh * c.dilation[0];
              f(((n * c.groups * c.in + channel) * c.ih + row) * c.iw + column,
                ((o * c.in + i) * c.kh + kh) * c.kw + kw, ((n * c.groups * c.out + o) * c.oh + h) * c.ow + w0,
                w1 - w0 + 1, c.stride[1]);
            }
          }
}

// The layout of an image or a filter bank in memory.
struct Image {
  ImageLayout layout;
  Dims physical;
  Dims logical = layout.logical(physical);
};

Image image_of(const Dims& shape, const Attrs& attrs, const char* block) {
  const auto spatial = static_cast<int64_t>(attrs.ints("stride").size());
  return {image_layout(shape, attrs.integer(block, 0), spatial).value(), shape};
}

Image filters_of(const Dims& shape, const Attrs& attrs) {
  return {filter_layout(shape, attrs.integer("weights_last", 0) != 0), shape};
}

// Calls f(position in memory, position in logical order) for every element.
template <class F>
void for_each_element(const Image& image, F&& f) {
  size_t i = 0;
  walk<1>(image.physical, {image.layout.strides(row_major(image.logical))},
          [&](const auto& at) { f(i++, static_cast<size_t>(at[0])); });
}

std::vector<double> to_logical(const Array& array, const Image& image) {
  if (image.layout.is_logical()) return array.data;
  std::vector<double> out(array.data.size());
  for_each_element(image, [&](size_t physical, size_t logical) { out[logical] = array.data[physical]; });
  return out;
}

void to_physical(std::vector<double> data, const Image& image, Array& array) {
  if (image.layout.is_logical()) {
    array.data = std::move(data);
    return;
  }
  for_each_element(image, [&](size_t physical, size_t logical) { array.data[physical] = data[logical]; });
}

Conv conv_of(const Attrs& attrs, const Dims& x, const Dims& w, const Dims& y) {
  const int64_t groups = attrs.integer("groups");
  return {x[0],
          groups,
          x[1] / groups,
          y[1] / groups,
          x[2],
          x[3],
          y[2],
          y[3],
          w[2],
          w[3],
          attrs.ints("stride"),
          attrs.ints("padding"),
          attrs.ints("dilation")};
}

void conv2d(const Work& work) {
  const Attrs& attrs = work.node.attrs;
  const Image lx = image_of(work.in[0]->type.shape, attrs, "block_in");
  const Image ly = image_of(work.out[0].type.shape, attrs, "block_out");
  const Image lw = filters_of(work.in[1]->type.shape, attrs);
  const std::vector<double> x = to_logical(*work.in[0], lx), w = to_logical(*work.in[1], lw);
  std::vector<double> y(work.out[0].data.size(), 0.0);
  for_each_run(conv_of(attrs, lx.logical, lw.logical, ly.logical),
               [&](int64_t xi, int64_t wi, int64_t yi, int64_t length, int64_t step) {
                 const double weight = w[static_cast<size_t>(wi)];
                 const double* from = x.data() + xi;
                 double* to = y.data() + yi;
                 for (int64_t j = 0; j < length; ++j) to[j] += weight * from[j * step];
               });
  to_physical(std::move(y), ly, work.out[0]);
}

void conv2d_input_grad(const Work& work) {
  const Attrs& attrs = work.node.attrs;
  const Image lx = image_of(work.out[0].type.shape, attrs, "block_in");
  const Image ly = image_of(work.in[0]->type.shape, attrs, "block_out");
  const Image lw = filters_of(work.in[1]->type.shape, attrs);
  const std::vector<double> dy = to_logical(*work.in[0], ly), w = to_logical(*work.in[1], lw);
  std::vector<double> dx(work.out[0].data.size(), 0.0);
  for_each_run(conv_of(attrs, lx.logical, lw.logical, ly.logical),
               [&](int64_t xi, int64_t wi, int64_t yi, int64_t length, int64_t step) {
                 const double weight = w[static_cast<size_t>(wi)];
                 const double* from = dy.data() + yi;
                 double* to = dx.data() + xi;
                 for (int64_t j = 0; j < length; ++j) to[j * step] += weight * from[j];
               });
  to_physical(std::move(dx), lx, work.out[0]);
}

// Returns the sum of y[j] * x[j * step], by four sums side by side, none of which waits for another.
double dot(const double* y, const double* x, int64_t length, int64_t step) {
  double sums[4] = {};
  int64_t j = 0;
  for (; j + 4 <= length; j += 4)
    for (int64_t l = 0; l < 4; ++l) sums[l] += y[j + l] * x[(j + l) * step];
  for (; j < length; ++j) sums[j % 4] += y[j] * x[j * step];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

void conv2d_weight_grad(const Work& work) {
  const Attrs& attrs = work.node.attrs;
  const Image lx = image_of(work.in[0]->type.shape, attrs, "block_in");
  const Image ly = image_of(work.in[1]->type.shape, attrs, "block_out");
  const std::vector<double> x = to_logical(*work.in[0], lx), dy = to_logical(*work.in[1], ly);
  const Image lw = filters_of(work.out[0].type.shape, attrs);
  std::vector<double> dw(work.out[0].data.size(), 0.0);
  for_each_run(conv_of(attrs, lx.logical, lw.logical, ly.logical),
               [&](int64_t xi, int64_t wi, int64_t yi, int64_t length, int64_t step) {
                 dw[static_cast<size_t>(wi)] += dot(dy.data() + yi, x.data() + xi, length, step);
               });
  to_physical(std::move(dw), lw, work.out[0]);
}

}  // namespace

void library(const Work& work) {
  const Op op = work.node.op;
  if (op == Op::matmul) return matmul(work);
  if (op == Op::conv2d) return conv2d(work);
  if (op == Op::conv2d_input_grad) return conv2d_input_grad(work);
  if (op == Op::conv2d_weight_grad) return conv2d_weight_grad(work);
  if (op == Op::flash_attention) return flash_attention(work);
  if (op == Op::flash_attention_grad) return flash_attention_grad(work);
  ensure(op == Op::pack_weights, "interpreter: not a library op");
  work.out[0].data = work.in[0]->data;
}

}  // namespace kb::oracle
