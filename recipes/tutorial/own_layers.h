// Layers and losses of your own, made of the functions of the DSL: parameters by hand, a gradient inside a loss, and a
// state that every step moves. Copy what you need; a model function calls them as it calls conv2d.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/sub_network.h"

// A linear layer without bias under weight normalisation: its matrix is g v / |v|, row by row (Salimans and Kingma
// 2016, equation 2). x [N, I] -> [N, features]. weight_g has the role of a norm's scale, which recipes spare from
// weight decay.
inline kb::Tensor weight_norm_linear(const std::string& name, kb::Tensor x, int64_t features) {
  using namespace kb;
  const Scope scope(name);
  Graph& graph = x.graph();
  Tensor v =
      parameter(graph, "weight_v", Role::weight, {x.dtype(), {features, x.size(1)}, "OI"}, {InitKind::normal, 0, 0.05});
  Tensor g = parameter(graph, "weight_g", Role::norm_scale, {x.dtype(), {features, 1}, ""}, {InitKind::constant, 1});
  return matmul(x, v * (g / norm(v, {1}, true)), false, true);
}

// A convolution over three axes without bias, x [N, C, D, H, W] -> [N, channels, D', H', W']: the kernel's planes along
// D become channels of a convolution over two. The numbers hold for all three axes. The weight is that of PyTorch's
// Conv3d, [channels, C, kernel, kernel, kernel], and starts as it does, uniform in +-1/sqrt(fan_in).
inline kb::Tensor conv3d(const std::string& name, kb::Tensor x, int64_t channels, int64_t kernel, int64_t stride = 1,
                         int64_t padding = 0) {
  using namespace kb;
  const Scope scope(name);
  const int64_t n = x.size(0), c = x.size(1), h = x.size(3), w = x.size(4);
  const int64_t depth = (x.size(2) + 2 * padding - kernel) / stride + 1;
  const double bound = 1 / std::sqrt(static_cast<double>(c * kernel * kernel * kernel));
  Tensor weight = parameter(x.graph(), "weight", Role::weight, {x.dtype(), {channels, c, kernel, kernel, kernel}, ""},
                            {InitKind::uniform, -bound, bound});
  const Tensor padded = pad(x, {0, 0, padding, 0, 0}, {0, 0, padding, 0, 0});
  std::vector<Tensor> planes;  // slices of x, one for each plane of the kernel
  for (int64_t i = 0; i < kernel; ++i) {
    const Tensor met = slice(padded, 2, i, i + (depth - 1) * stride + 1, stride);
    planes.push_back(reshape(transpose(met, {0, 2, 1, 3, 4}), {n * depth, c, 1, h, w}));
  }
  const Tensor y = convolution(reshape(concat(planes, 2), {n * depth, c * kernel, h, w}),
                               reshape(weight, {channels, c * kernel, kernel, kernel}),
                               {.kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}});
  return transpose(reshape(y, {n, depth, channels, y.size(2), y.size(3)}), {0, 2, 1, 3, 4});
}

// The penalty on a critic's slope at x (Gulrajani et al. 2017, equation 3): (|d critic / dx| - 1)^2 of each sample,
// [N]. `critic` [N] is computed from x [N, ...] sample by sample. The penalty is differentiated again as part of a
// loss.
inline kb::Tensor gradient_penalty(kb::Tensor critic, kb::Tensor x) {
  using namespace kb;
  Tensor slope = gradients(sum(critic), {x})[0];
  Tensor excess = norm(reshape(slope, {x.size(0), -1}), {1}) - 1.0;
  return excess * excess;
}

// The linear recurrence h_t = a_t h_(t-1) + b_t along axis 1 with h = 0 before the first, for a and b [N, T, ...] of
// one shape, as in diagonal state-space layers (Gu and Dao 2023, arXiv 2312.00752, equation 2a). It takes log2(T) steps
// (Hillis and Steele 1986), each of which doubles the number of terms that an element has seen.
inline kb::Tensor linear_recurrence(kb::Tensor a, kb::Tensor b) {
  using namespace kb;
  const auto later = [](Tensor x, int64_t by) {  // x moved by so many places; 0 comes in
    Ints low(static_cast<size_t>(x.rank()), 0), none = low;
    low[1] = by;
    return pad(slice(x, 1, 0, x.size(1) - by), low, none);
  };
  for (int64_t by = 1; by < a.size(1); by *= 2) {
    b = b + a * later(b, by);
    a = a * later(a, by);
  }
  return b;
}

// The parameters w moved by `distance` along the gradient g of a mean loss, w + distance g / |g|, where sharpness-aware
// minimisation takes its gradient (Foret et al. 2021, equations 2 and 3). |g| is over all of them; no gradient goes
// through the move. With several workers each moves by the gradient of its own samples, as in section 4.1 of the paper.
//   { const Scope scope("net"); loss = cross_entropy(net(x), y); }
//   const std::vector<Tensor> w = parameters_under(x.graph(), "net"), there = uphill(mean(loss), w, 0.05);
//   { const Reuse again("net"); const Replaced moved(w, there); loss = cross_entropy(net(x), y); }
inline std::vector<kb::Tensor> uphill(kb::Tensor mean_loss, const std::vector<kb::Tensor>& w, double distance) {
  using namespace kb;
  std::vector<Tensor> moved, slopes = gradients(mean_loss, w);
  Tensor squares = full_like(mean_loss, 0);
  for (const Tensor& slope : slopes) squares = squares + sum(slope * slope);
  const Tensor share = distance / (sqrt(squares) + 1e-12);
  for (size_t i = 0; i < w.size(); ++i) moved.push_back(w[i] + stop_gradient(share * slopes[i]));
  return moved;
}

// x [N, K] minus a moving average of its minibatch's mean (the centre of Caron et al. 2021, equation 4), a state that
// checkpoints hold. The average of global worker 0 is kept where a step has several. Inference only reads it.
inline kb::Tensor centred(const std::string& name, kb::Tensor x, double momentum) {
  using namespace kb;
  Tensor centre = state(x.graph(), name, {x.dtype(), {x.size(1)}, "C"}, {InitKind::constant, 0});
  if (x.graph().mode == Mode::training)
    write_state(centre, momentum * centre + (1 - momentum) * mean(stop_gradient(x), {0}));
  return x - centre;
}
