// Randomness by counters: Philox, the op random_bits, initial values of variables, random bindings. Sine is written out
// here and the logarithm in portable_math, so that initial values have the same bits with every C library.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "graph/interpreter.h"
#include "graph/interpreter_ops.h"
#include "graph/portable_math.h"

namespace kb {

// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3 and table 2: Philox4x32-10.
Philox philox(const uint32_t (&counter)[4], const uint32_t (&key)[2]) {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
                              static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

uint32_t fnv1a32(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

namespace oracle {

void random_bits(const Work& work) {
  const Attrs& attrs = work.node.attrs;
  const auto scalar = [&](size_t i) { return static_cast<uint32_t>(work.in[i]->data[0]); };
  const uint32_t step = scalar(0), worker = scalar(1);
  const uint32_t key[2] = {scalar(2), fnv1a32(attrs.text("stream"))};
  const Dims& shape = work.out[0].type.shape;
  Ints element = attrs.ints("strides"), sample(shape.size(), 0);
  element[0] = 0;
  sample[0] = 1;
  size_t i = 0;
  walk<2>(shape, {element, sample}, [&](const auto& at) {
    const uint32_t counter[4] = {static_cast<uint32_t>(at[0]),
                                 worker * static_cast<uint32_t>(shape[0]) + static_cast<uint32_t>(at[1]), step, 0};
    work.out[0].data[i++] = philox(counter, key).word[0];
  });
}

}  // namespace oracle

namespace {

struct SinCos {
  double sin, cos;
};

// Returns sine and cosine of 2 pi u for u in [0, 1): Taylor series within an eighth of a turn, then quarter turns.
SinCos portable_sincos(double u) {
  const double quarter = std::floor(4 * u + 0.5);
  const double a = 2 * std::numbers::pi * (u - quarter / 4), a2 = a * a;
  double s = 1, c = 1;
#pragma GCC unroll 10  // the divisors are constants then
  for (int k = 20; k >= 2; k -= 2) {
    c = 1 - a2 / (k * (k - 1)) * c;
    s = 1 - a2 / (k * (k + 1)) * s;
  }
  SinCos turned{s * a, c};
  for (int q = static_cast<int>(quarter); q > 0; --q) turned = {turned.cos, -turned.sin};
  return turned;
}

// Returns pair number `pair` of the uniform numbers k / 2^53 under `key`, or another one for each attempt. The last
// word of the counter is 1; random_bits has 0 there, so the two never share a counter.
std::array<double, 2> uniform_pair(uint64_t pair, const uint32_t (&key)[2], uint32_t attempt = 0) {
  const uint32_t counter[4] = {static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32), attempt, 1};
  const Philox p = philox(counter, key);
  const auto unit = [](uint32_t high, uint32_t low) {
    return static_cast<double>((static_cast<uint64_t>(high) << 21) | (low >> 11)) * 0x1p-53;
  };
  return {unit(p.word[0], p.word[1]), unit(p.word[2], p.word[3])};
}

// Returns two normal numbers from two uniform ones, by Box and Muller 1958.
std::array<double, 2> normal_pair(uint64_t pair, const uint32_t (&key)[2], uint32_t attempt = 0) {
  const auto [u, v] = uniform_pair(pair, key, attempt);
  const double radius = std::sqrt(-2 * portable_log(u + 0x1p-53));
  const SinCos angle = portable_sincos(v);
  return {radius * angle.cos, radius * angle.sin};
}

// Fills `data` two values at a time; pair(i) returns the values of pair number i.
template <class F>
void fill_pairs(std::vector<double>& data, F&& pair) {
  for (size_t i = 0; i < data.size(); i += 2) {
    const std::array<double, 2> values = pair(i / 2);
    data[i] = values[0];
    if (i + 1 < data.size()) data[i + 1] = values[1];
  }
}

// Returns normal number `element` within two standard deviations: the first one of its attempts that lies there.
double truncated_normal(uint64_t element, const uint32_t (&key)[2]) {
  for (uint32_t attempt = 0;; ++attempt)
    for (const double x : normal_pair(element, key, attempt))
      if (std::abs(x) <= 2) return x;
}

// Makes orthonormal rows, or columns if these are fewer, of normal vectors by Gram and Schmidt's method. The second
// pass takes away what rounding left in the first.
void fill_orthogonal(Array& array, double factor, const uint32_t (&key)[2]) {
  const Dims& shape = array.type.shape;
  const size_t rows = shape.empty() ? 1 : static_cast<size_t>(shape[0]), columns = array.data.size() / rows;
  const size_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> all(array.data.size());
  fill_pairs(all, [&](size_t pair) { return normal_pair(pair, key); });
  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += a[i] * b[i];
    return sum;
  };
  for (size_t k = 0; k < count; ++k) {
    double* own = all.data() + k * length;
    for (size_t other = 0; other < 2 * k; ++other) {
      const double* before = all.data() + other % k * length;
      const double share = dot(own, before);
      for (size_t i = 0; i < length; ++i) own[i] -= share * before[i];
    }
    const double scale = factor / std::sqrt(dot(own, own));
    for (size_t i = 0; i < length; ++i) array.data[rows <= columns ? k * length + i : i * columns + k] = scale * own[i];
    for (size_t i = 0; i < length; ++i) own[i] *= scale / factor;
  }
}

void round_all(Array& array) {
  for (double& v : array.data) v = round_to(array.type.dtype, v);
}

// The exclusive upper limit of each integer value that its use in the graph sets: the rows of the table that it
// indexes, or the length of the iota that it is compared with.
class Limits {
 public:
  explicit Limits(const Graph& graph) : graph_(graph), limits_(graph.nodes.size(), kNone) {
    for (size_t i = graph.nodes.size(); i-- > 0;) visit(graph.nodes[i], limits_[i]);
  }
  int64_t of(size_t node) const { return limits_[node] == kNone ? 4 : limits_[node]; }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  void limit(Value v, int64_t at) {
    int64_t& limit = limits_[static_cast<size_t>(v.node)];
    limit = std::min(limit, at);
  }

  void visit(const Node& node, int64_t& own) {
    if (node.op == Op::input && node.attrs.has("below")) own = std::min(own, node.attrs.integer("below"));
    if (node.op == Op::gather) return limit(node.inputs[1], graph_.type(node.inputs[0]).shape[0]);
    if (node.op == Op::index_order || node.op == Op::scatter_add)
      return limit(node.inputs[0], node.attrs.integer("rows"));
    if (node.op == Op::eq || node.op == Op::ne) {
      for (size_t i = 0; i < 2; ++i) {
        if (const auto length = iota_length(node.inputs[1 - i])) limit(node.inputs[i], *length);
      }
      return;
    }
    if (passes_values(node.op)) {
      for (const Value& v : node.inputs) limit(v, own);
    }
  }

  static bool passes_values(Op op) {
    return op == Op::cast || info(op).cls == OpClass::movement || info(op).cls == OpClass::marker;
  }

  std::optional<int64_t> iota_length(Value v) const {
    while (passes_values(graph_.node(v).op) && graph_.node(v).inputs.size() == 1) v = graph_.node(v).inputs[0];
    if (graph_.node(v).op != Op::iota) return std::nullopt;
    return graph_.type(v).shape[0];
  }

  const Graph& graph_;
  std::vector<int64_t> limits_;
};

Array random_array(const Type& type, uint32_t seed, const std::string& name, int64_t limit) {
  Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
  const uint32_t key[2] = {seed, fnv1a32(name)};
  if (is_float(type.dtype)) {
    fill_pairs(array.data, [&](size_t pair) { return normal_pair(pair, key); });
  } else {
    const double top = static_cast<double>(type.dtype == DType::boolean ? 2 : limit);
    fill_pairs(array.data, [&](size_t pair) {
      const auto [u, v] = uniform_pair(pair, key);
      return std::array<double, 2>{std::floor(u * top), std::floor(v * top)};
    });
  }
  round_all(array);
  return array;
}

// A scalar float input is drawn from (0, 1), as hyper-parameters (learning rate, momentum, smoothing) make sense there.
Array random_scalar(const Type& type, uint32_t seed, const std::string& name, int64_t limit) {
  if (!is_float(type.dtype)) return random_array(type, seed, name, limit);
  Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
  const uint32_t key[2] = {seed, fnv1a32(name)};
  fill_pairs(array.data, [&](size_t pair) {
    const auto [u, v] = uniform_pair(pair, key);
    return std::array<double, 2>{0.1 + 0.8 * u, 0.1 + 0.8 * v};
  });
  round_all(array);
  return array;
}

// Adds to the diagonals of square matrices (last two axes) so much that they have an inverse.
void make_dominant(Array& array) {
  const Dims& shape = array.type.shape;
  if (shape.size() < 3 || shape.end()[-1] != shape.end()[-2]) return;
  const auto side = static_cast<size_t>(shape.back());
  for (size_t i = 0; i < array.data.size(); ++i)
    if (i / side % side == i % side) array.data[i] += 2 * static_cast<double>(side);
}

// State and slots may hold variances and second moments, which are not negative: only parameters take both signs. Slots
// of matrices may hold covariances, whose eigenvalues are positive. Tables keep their values.
Array random_variable(const Variable& variable, uint32_t seed) {
  if (variable.kind == VariableKind::table) return initial_value(variable, seed);
  Array array = random_array(variable.type, seed, variable.name, 4);
  if (variable.kind == VariableKind::parameter || !is_float(variable.type.dtype)) return array;
  for (double& v : array.data) v = 0.5 + std::abs(v);
  if (variable.kind == VariableKind::slot) make_dominant(array);
  round_all(array);
  return array;
}

}  // namespace

Array initial_value(const Variable& variable, uint32_t seed) {
  const Init& init = variable.init;
  Array array{variable.type, std::vector<double>(static_cast<size_t>(variable.type.elements()), init.a)};
  const uint32_t key[2] = {seed, fnv1a32(variable.name)};
  switch (init.kind) {
    case InitKind::constant:
      break;
    case InitKind::runs:
      array.data.clear();
      for (size_t i = 0; i + 1 < variable.values.size(); i += 2)
        array.data.insert(array.data.end(), static_cast<size_t>(variable.values[i]), variable.values[i + 1]);
      break;
    case InitKind::normal:
      fill_pairs(array.data, [&](size_t pair) {
        const auto [x, y] = normal_pair(pair, key);
        return std::array<double, 2>{init.a + init.b * x, init.a + init.b * y};
      });
      break;
    case InitKind::truncated_normal:
      for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = init.a + init.b * truncated_normal(i, key);
      break;
    case InitKind::orthogonal:
      fill_orthogonal(array, init.b, key);
      break;
    case InitKind::uniform:
      fill_pairs(array.data, [&](size_t pair) {
        const auto [x, y] = uniform_pair(pair, key);
        return std::array<double, 2>{init.a + (init.b - init.a) * x, init.a + (init.b - init.a) * y};
      });
      break;
  }
  ensure(static_cast<int64_t>(array.data.size()) == array.type.elements(), "initial_value: values of another length");
  round_all(array);
  return array;
}

Bindings random_bindings(const Graph& graph, uint32_t seed) {
  const Limits limits(graph);
  Bindings bindings;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != Op::input) continue;
    const std::string& name = node.attrs.text("name");
    const bool scalar = node.attrs.text("kind") == "scalar";
    bindings[name] = scalar ? random_scalar(node.type(), seed, name, limits.of(i))
                            : random_array(node.type(), seed, name, limits.of(i));
  }
  for (const Variable& variable : graph.variables) bindings[variable.name] = random_variable(variable, seed);
  return bindings;
}

}  // namespace kb
