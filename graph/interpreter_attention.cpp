// The interpreter's flash_attention and its gradient: plain loops over one sample, head and row at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/flash_attention.h"
#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Calls f(sample, head, row, keys): `keys` are those that the row sees, from 0 on.
template <class F>
void for_each_row(const Work& work, const AttentionShape& s, size_t first_length, F&& f) {
  const bool causal = work.node.attrs.integer("causal") != 0, bounded = work.in.size() > first_length;
  const auto length = [&](size_t which, int64_t n, int64_t most) {
    if (!bounded) return most;
    return std::min(most, static_cast<int64_t>(work.in[first_length + which]->data[static_cast<size_t>(n)]));
  };
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t head = 0; head < s.heads; ++head)
      for (int64_t row = 0; row < s.t; ++row) {
        const int64_t keys = row < length(0, n, s.t) ? length(1, n, s.s) : 0;
        f(n, head, row, std::max<int64_t>(0, causal ? std::min(keys, row + 1) : keys));
      }
}

// Returns the position of a head's first feature in [N, length, heads width].
size_t at(const AttentionShape& s, int64_t length, int64_t width, int64_t n, int64_t head, int64_t row) {
  return static_cast<size_t>(((n * length + row) * s.heads + head) * width);
}

double dot(const double* a, const double* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(double* to, double factor, const double* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

}  // namespace

void flash_attention(const Work& work) {
  const Array &q = *work.in[0], &k = *work.in[1], &v = *work.in[2];
  const AttentionShape s = attention_shape(q.type, k.type, v.type, work.node.attrs);
  const double scale = work.node.attrs.real("scale");
  std::vector<double> scores(static_cast<size_t>(s.s));
  for_each_row(work, s, kFlashInputs, [&](int64_t n, int64_t head, int64_t row, int64_t keys) {
    if (keys == 0) return;
    const double* query = &q.data[at(s, s.t, s.d, n, head, row)];
    double greatest = -HUGE_VAL, total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      scores[static_cast<size_t>(j)] = scale * dot(query, &k.data[at(s, s.s, s.d, n, head, j)], s.d);
      greatest = std::max(greatest, scores[static_cast<size_t>(j)]);
    }
    for (int64_t j = 0; j < keys; ++j) total += std::exp(scores[static_cast<size_t>(j)] - greatest);
    double* o = &work.out[0].data[at(s, s.t, s.e, n, head, row)];
    for (int64_t j = 0; j < keys; ++j)
      add_scaled(o, std::exp(scores[static_cast<size_t>(j)] - greatest) / total, &v.data[at(s, s.s, s.e, n, head, j)],
                 s.e);
    work.out[1].data[static_cast<size_t>((n * s.heads + head) * s.t + row)] = greatest + std::log(total);
  });
}

void flash_attention_grad(const Work& work) {
  const Array &q = *work.in[0], &k = *work.in[1], &v = *work.in[2], &o = *work.in[3];
  const Array &log_sum_exp = *work.in[kFlashLogSumExp], &d_o = *work.in[5];
  const AttentionShape s = attention_shape(q.type, k.type, v.type, work.node.attrs);
  const double scale = work.node.attrs.real("scale");
  for_each_row(work, s, kFlashGradInputs, [&](int64_t n, int64_t head, int64_t row, int64_t keys) {
    const size_t at_q = at(s, s.t, s.d, n, head, row), at_o = at(s, s.t, s.e, n, head, row);
    const double shift = log_sum_exp.data[static_cast<size_t>((n * s.heads + head) * s.t + row)];
    const double mean = dot(&o.data[at_o], &d_o.data[at_o], s.e);
    for (int64_t j = 0; j < keys; ++j) {
      const size_t at_k = at(s, s.s, s.d, n, head, j), at_v = at(s, s.s, s.e, n, head, j);
      const double weight = std::exp(scale * dot(&q.data[at_q], &k.data[at_k], s.d) - shift);
      const double d_score = weight * (dot(&d_o.data[at_o], &v.data[at_v], s.e) - mean) * scale;
      add_scaled(&work.out[0].data[at_q], d_score, &k.data[at_k], s.d);
      add_scaled(&work.out[1].data[at_k], d_score, &q.data[at_q], s.d);
      add_scaled(&work.out[2].data[at_v], weight, &d_o.data[at_o], s.e);
    }
  });
}

}  // namespace kb::oracle
