#include "tests/random_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "graph/formula.h"
#include "graph/functions.h"
#include "graph/layers.h"

namespace kb::test {
namespace {

// Steele et al. 2014, SplitMix64: the same numbers whatever the standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // In [low, high], both included.
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return static_cast<double>(bits() >> 11) * 0x1p-53 < probability; }
  // A multiple of 1/16: exact in every float dtype.
  double number(double low, double high) {
    return static_cast<double>(integer(static_cast<int64_t>(low * 16), static_cast<int64_t>(high * 16))) / 16;
  }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(integer(0, static_cast<int64_t>(items.size()) - 1))];
  }

 private:
  uint64_t state_;
};

// A tensor of the pool: a bound of its absolute values, and whether every backend computes it exactly.
struct Item {
  Tensor tensor;
  double bound = 6;
  bool exact = false;
  bool used = false;
};

class Builder {
 public:
  Builder(uint32_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), graph_("random" + std::to_string(seed)), turn_(seed) {}

  Graph run();

 private:
  struct Step {
    bool smooth;
    int weight;
    void (Builder::*make)();
  };
  static const std::vector<Step>& steps();

  // --- the pool
  Item& pick();
  Item& pick_exact();
  Item& pick_rank(int64_t least, int64_t most);
  void keep(Tensor tensor, double bound, bool exact = false);
  Tensor use(Item& item) {
    item.used = true;
    return item.tensor;
  }
  Tensor positive(Tensor x) { return softplus(x) + 0.5; }

  // --- leaves
  Tensor leaf(const Dims& shape);
  Tensor given(const char* kind, DType dtype, const Dims& shape);
  Item fresh(const Dims& shape);
  Tensor indices(const Dims& shape, int64_t limit);
  Dims shape(int64_t least_rank, int64_t most_rank);
  Dims broadcastable(const Dims& shape);
  Ints some_axes(int64_t rank, bool at_least_one);
  Tensor whole(DType dtype, const Dims& shape);
  Tensor pick_whole();
  Tensor whole_pointwise(Tensor a);
  Tensor whole_move(Tensor a);
  // One after the other, each graph from another on: graphs of many seeds meet all of them.
  template <class T>
  const T& in_turn(const std::vector<T>& items) {
    return items[static_cast<size_t>(turn_++) % items.size()];
  }
  std::string fresh_name(const char* kind) { return kind + std::to_string(names_++); }
  int64_t elements_left(const Dims& shape) const {
    return options_.max_elements / std::max<int64_t>(1, element_count(shape));
  }

  // --- steps
  void unary();
  void tabled_unary(Tensor x);
  void kinked_unary();
  void jumping_unary();
  void binary();
  void kinked_binary();
  void comparison();
  void integers();
  void bits();
  void low_precision();
  void reshaping();
  void transposing();
  void slicing();
  void padding();
  void concatenation();
  void broadcasting();
  void sums();
  void extrema();
  void arg_maximum();
  void moments_step();
  void euclidean();
  void product();
  void convolution_step();
  void convolution_gradients();
  void average_pooling();
  void maximum_pooling();
  void gathering();
  void cropping();
  void scattering();
  void selecting_classes();
  void softmaxes();
  void normalisation();
  void markers();
  void dropping();
  void state_step();
  void whole_numbers();

  Tensor image();
  Window window(const Dims& image, bool dilated);
  void finish();
  void finish_loss();

  Random random_;
  const RandomGraphOptions& options_;
  Graph graph_;
  std::vector<Item> pool_;
  std::vector<Tensor> whole_;  // integers and booleans: all exact, all outputs
  int names_ = 0;
  uint32_t turn_ = 0;
};

const std::vector<Builder::Step>& Builder::steps() {
  static const std::vector<Step> table = {
      {true, 6, &Builder::unary},
      {false, 2, &Builder::kinked_unary},
      {false, 2, &Builder::jumping_unary},
      {true, 7, &Builder::binary},
      {false, 2, &Builder::kinked_binary},
      {false, 2, &Builder::comparison},
      {false, 2, &Builder::integers},
      {false, 1, &Builder::bits},
      {false, 1, &Builder::low_precision},
      {true, 2, &Builder::reshaping},
      {true, 2, &Builder::transposing},
      {true, 2, &Builder::slicing},
      {true, 2, &Builder::padding},
      {true, 2, &Builder::concatenation},
      {true, 2, &Builder::broadcasting},
      {true, 4, &Builder::sums},
      {false, 2, &Builder::extrema},
      {false, 1, &Builder::arg_maximum},
      {true, 2, &Builder::moments_step},
      {false, 1, &Builder::euclidean},
      {true, 3, &Builder::product},
      {true, 2, &Builder::convolution_step},
      {true, 1, &Builder::convolution_gradients},
      {true, 1, &Builder::average_pooling},
      {false, 1, &Builder::maximum_pooling},
      {true, 1, &Builder::gathering},
      {true, 1, &Builder::cropping},
      {true, 1, &Builder::scattering},
      {false, 1, &Builder::selecting_classes},
      {true, 1, &Builder::softmaxes},
      {true, 1, &Builder::normalisation},
      {true, 1, &Builder::markers},
      {true, 1, &Builder::dropping},
      {true, 2, &Builder::state_step},
  };
  return table;
}

// --- the pool

// Prefers the youngest, so that graphs grow deep as well as wide.
Item& Builder::pick() {
  const auto size = static_cast<int64_t>(pool_.size());
  const int64_t first = random_.chance(0.6) ? std::max<int64_t>(0, size - 3) : 0;
  return pool_[static_cast<size_t>(random_.integer(first, size - 1))];
}

Item& Builder::pick_exact() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Item& item = pick();
    if (item.exact) return item;
  }
  pool_.push_back(fresh(shape(0, 4)));
  return pool_.back();
}

Item& Builder::pick_rank(int64_t least, int64_t most) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Item& item = pick();
    if (item.tensor.rank() >= least && item.tensor.rank() <= most) return item;
  }
  pool_.push_back(fresh(shape(least, most)));
  return pool_.back();
}

// Large values are scaled down (by a power of two: exact), so that no chain of products runs away.
void Builder::keep(Tensor tensor, double bound, bool exact) {
  double scale = 1;
  while (bound * scale > 32) scale /= 2;
  if (scale != 1) tensor = tensor * scale;
  pool_.push_back({tensor, bound * scale, exact, false});
}

// --- leaves

Tensor Builder::leaf(const Dims& shape) {
  const DType dtype = options_.dtype;
  if (random_.chance(options_.smooth ? 0.5 : 0.1)) {
    // All parameters of a graph have one dtype, and those of norms are f32 at least.
    const DType kept = is_low_precision(dtype) ? DType::f32 : dtype;
    const Tensor w = parameter(graph_, fresh_name("w"), Role::weight, {kept, shape, ""}, {InitKind::normal, 0, 1});
    return kept == dtype ? w : cast(w, dtype);
  }
  if (random_.chance(0.1)) {
    std::vector<double> values(static_cast<size_t>(element_count(shape)));
    for (double& v : values) v = random_.number(-2, 2);
    return constant(graph_, dtype, shape, values);
  }
  return given("x", dtype, shape);
}

Tensor Builder::given(const char* kind, DType dtype, const Dims& shape) {
  if (shape.empty()) return scalar_input(graph_, fresh_name(kind), dtype);
  return input(graph_, fresh_name(kind), dtype, shape, "");
}

Item Builder::fresh(const Dims& shape) { return {leaf(shape), 6, true, false}; }

Tensor Builder::indices(const Dims& shape, int64_t limit) {
  if (random_.chance(0.7)) return given("i", DType::i32, shape);
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (double& v : values) v = static_cast<double>(random_.integer(0, limit - 1));
  return constant(graph_, DType::i32, shape, values);
}

Dims Builder::shape(int64_t least_rank, int64_t most_rank) {
  Dims shape;
  for (int64_t rank = random_.integer(least_rank, most_rank); rank > 0; --rank) {
    const int64_t most = std::min<int64_t>(9, elements_left(shape) + 1);
    static const std::vector<int64_t> primes = {1, 1, 2, 3, 5, 7, 11, 13, 17, 31, 37, 101};
    int64_t extent = random_.integer(1, most);
    if (options_.whole && random_.chance(0.5)) extent = std::min(random_.pick(primes), elements_left(shape) + 1);
    shape.push_back(extent);
  }
  return shape;
}

// A shape that broadcasts to `shape`: leading axes may be missing, others may be 1.
Dims Builder::broadcastable(const Dims& shape) {
  Dims result = shape;
  for (int64_t& extent : result) {
    if (random_.chance(0.25)) extent = 1;
  }
  if (random_.chance(0.4))
    result.erase(result.begin(), result.begin() + random_.integer(0, static_cast<int64_t>(shape.size())));
  return result;
}

Ints Builder::some_axes(int64_t rank, bool at_least_one) {
  Ints axes;
  for (int64_t a = 0; a < rank; ++a) {
    if (random_.chance(0.5)) axes.push_back(a);
  }
  if (axes.empty() && at_least_one) axes.push_back(random_.integer(0, rank - 1));
  return axes;
}

// --- point-wise

void Builder::unary() {
  Item& item = pick();
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  switch (random_.integer(0, 9)) {
    case 0:
      return keep(softplus(x), bound + 1);
    case 1:
      return keep(silu(x), bound);
    case 2:
      return keep(-x, bound, pool_.back().exact && x.value() == pool_.back().tensor.value());
    case 3:
      return keep(x * x, bound * bound);
    default:
      return tabled_unary(x);
  }
}

// Any smooth op of the table, on the inner part of its row's interval.
void Builder::tabled_unary(Tensor x) {
  std::vector<const OpInfo*> rows;
  for (const OpInfo& row : all_ops())
    if (row.rule == TypeRule::floats && row.arity == 1 && !row.exact) rows.push_back(&row);
  const OpInfo& row = *in_turn(rows);
  const double middle = (row.smooth.low + row.smooth.high) / 2, reach = 0.45 * (row.smooth.high - row.smooth.low);
  double bound = 0;
  for (int i = -16; i <= 16; ++i) {
    const double at = middle + reach * i / 16;
    bound = std::max(bound, std::abs(evaluate_op(row.op, {&at, 1})));
  }
  keep(pointwise(row.op, {tanh(x) * reach + middle}), bound);
}

void Builder::kinked_unary() {
  Item& item = pick();
  const double bound = item.bound;
  const bool exact = item.exact;
  const Tensor x = use(item);
  switch (random_.integer(0, 3)) {
    case 0:
      return keep(abs(x), bound, exact);
    case 1:
      return keep(relu(x), bound, exact);
    case 2:
      return keep(leaky_relu(x, 0.25), bound, exact);
    default:
      return keep(clamp(x, -1.5, 2), 2, exact);
  }
}

void Builder::jumping_unary() {
  Item& item = pick_exact();
  const double bound = item.bound;
  const Tensor x = use(item);
  if (random_.chance(0.3)) return keep(cast(cast(x, DType::i32), options_.dtype), bound, true);
  std::vector<Op> jumps;  // to results that are exact, and no further away than the next integer
  for (const OpInfo& row : all_ops())
    if (is_pointwise(row.op) && row.arity == 1 && row.exact) jumps.push_back(row.op);
  keep(pointwise(in_turn(jumps), {x}), bound + 1, true);
}

void Builder::binary() {
  Item& item = pick();
  const double bound = item.bound;
  const Tensor a = use(item);
  Tensor b = a;
  double other = bound;
  // The other side: one of the pool that broadcasts, or a new leaf that does.
  for (Item& candidate : pool_) {
    if (candidate.tensor.shape() != a.shape() || !random_.chance(0.3)) continue;
    other = candidate.bound;
    b = use(candidate);
  }
  if (b.value() == a.value() && random_.chance(0.8)) {
    const Item made = fresh(broadcastable(a.shape()));
    b = made.tensor;
    other = made.bound;
  }
  switch (random_.integer(0, 6)) {
    case 0:
      return keep(a + b, bound + other);
    case 1:
      return keep(b - a, bound + other);
    case 2:
      return keep(a * b, bound * other);
    case 3:
      return keep(a / positive(b), 2 * bound);
    case 4:
      return keep(b / positive(a), 2 * other);
    case 5:
      return keep(pow(positive(a), tanh(b)), bound + 2);
    default:
      return keep(a * 0.75 + 1.5 - b, bound + other + 2);
  }
}

void Builder::kinked_binary() {
  Item& item = pick();
  const double bound = item.bound;
  const Tensor a = use(item);
  const Item other = fresh(broadcastable(a.shape()));
  const double most = std::max(bound, other.bound);
  const bool exact = item.exact;
  if (random_.chance(0.5)) return keep(maximum(a, other.tensor), most, exact);
  keep(minimum(other.tensor, a), most, exact);
}

void Builder::comparison() {
  Item& item = pick_exact();
  const double bound = item.bound;
  const Tensor a = use(item);
  const Item other = fresh(broadcastable(a.shape()));
  const Tensor b = other.tensor;
  const std::vector<Op> ops = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
  Tensor condition = pointwise(random_.pick(ops), {a, b});
  if (random_.chance(0.3)) condition = logical_not(condition);
  if (random_.chance(0.3)) condition = bit_xor(condition, a < 0.5);
  if (random_.chance(0.3)) return keep(cast(condition, options_.dtype), 1, true);
  keep(select(condition, a, random_.chance(0.5) ? Operand(b) : Operand(1.25)), std::max(bound, other.bound), true);
}

// Small integers, through signed arithmetic and back.
void Builder::integers() {
  const Dims dims = shape(0, 4);
  const Tensor a = given("k", random_.chance(0.3) ? DType::u8 : DType::i32, dims);
  const Tensor i = cast(a, DType::i32);
  const Tensor j = given("k", DType::i32, broadcastable(dims));
  Tensor result = i + j * 3.0;
  switch (random_.integer(0, 4)) {
    case 0:
      result = maximum(result, 4.0) - i;
      break;
    case 1:
      result = bit_and(result, 5.0);
      break;
    case 2:
      result = result * i - 7.0;
      break;
    case 3:
      result = select(result > j, result, -i);
      break;
    default:
      break;
  }
  keep(cast(result, options_.dtype), 40, true);
}

// Unsigned bits, which wrap; the upper ones become a number in [0, 1).
void Builder::bits() {
  Dims dims = shape(1, 4);
  Tensor word = random_bits(graph_, fresh_name("stream"), dims);
  switch (random_.integer(0, 4)) {
    case 0:
      word = bit_xor(word, shift_right(word, 7.0));
      break;
    case 1:
      word = word * 2654435761.0;
      break;
    case 2:
      word = bit_or(shift_left(word, 9.0), shift_right(word, 23.0));
      break;
    case 3:
      word = mul_high(word, 3000000000.0) + 5.0;
      break;
    default:
      break;
  }
  const Tensor share = cast(shift_right(word, 8.0), DType::f32) * 0x1p-24;
  keep(cast(share, options_.dtype), 1, true);
}

void Builder::low_precision() {
  Item& item = pick_exact();
  const double bound = item.bound;
  const Tensor x = cast(use(item), random_.chance(0.5) ? DType::bf16 : DType::f16);
  keep(cast(random_.chance(0.5) ? relu(x) : -x, options_.dtype), bound, true);
}

// --- movement

void Builder::reshaping() {
  Item& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Dims dims = x.shape();
  if (dims.size() > 1 && random_.chance(0.6)) {  // merge two neighbours
    const auto at = random_.integer(0, static_cast<int64_t>(dims.size()) - 2);
    dims[static_cast<size_t>(at)] *= dims[static_cast<size_t>(at) + 1];
    dims.erase(dims.begin() + at + 1);
  } else {  // split one
    const auto at = random_.integer(0, static_cast<int64_t>(dims.size()) - 1);
    int64_t& extent = dims[static_cast<size_t>(at)];
    const int64_t factor = extent % 3 == 0 ? 3 : extent % 2 == 0 ? 2 : 1;
    extent /= factor;
    dims.insert(dims.begin() + at, factor);
  }
  if (dims.size() > 5) dims = {-1};
  keep(reshape(x, dims), bound, exact);
}

void Builder::transposing() {
  Item& item = pick_rank(2, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints perm;
  for (int64_t a = 0; a < x.rank(); ++a) perm.insert(perm.begin() + random_.integer(0, a), a);
  keep(transpose(x, perm), bound, exact);
}

void Builder::slicing() {
  Item& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints begin, end, step;
  for (const int64_t extent : x.shape()) {
    const bool whole = random_.chance(0.5);
    begin.push_back(whole ? 0 : random_.integer(0, extent - 1));
    end.push_back(whole ? extent : random_.integer(begin.back() + 1, extent));
    step.push_back(whole && random_.chance(0.7) ? 1 : random_.integer(1, 3));
  }
  keep(slice(x, begin, end, step), bound, exact);
}

void Builder::padding() {
  Item& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints low, high, interior;
  int64_t room = elements_left(x.shape());
  for (size_t a = 0; a < x.shape().size(); ++a) {
    const bool pads = room > 3 && random_.chance(0.5);
    low.push_back(pads ? random_.integer(0, 2) : 0);
    high.push_back(pads ? random_.integer(0, 2) : 0);
    interior.push_back(pads ? random_.integer(0, 1) : 0);
    if (pads) room /= 3;
  }
  keep(pad(x, low, high, random_.chance(0.5) ? 0 : random_.number(-1, 1), interior), bound, exact);
}

void Builder::concatenation() {
  Item& item = pick_rank(1, 4);
  double bound = item.bound;
  bool exact = item.exact;
  const Tensor x = use(item);
  const int64_t axis = random_.integer(0, x.rank() - 1);
  std::vector<Tensor> parts = {x};
  for (int64_t more = random_.integer(1, 2); more > 0; --more) {
    Dims dims = x.shape();
    dims[static_cast<size_t>(axis)] = random_.integer(1, 4);
    const Item part = random_.chance(0.3) ? Item{x, bound, exact, true} : fresh(dims);
    bound = std::max(bound, part.bound);
    exact = exact && part.exact;
    parts.insert(parts.begin() + random_.integer(0, static_cast<int64_t>(parts.size())), part.tensor);
  }
  keep(concat(parts, axis), bound, exact);
}

void Builder::broadcasting() {
  Item& item = pick_rank(0, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const int64_t room = std::min<int64_t>(5, elements_left(x.shape()));
  if (room < 2) return;
  Dims dims = x.shape();
  const int64_t extent = random_.integer(1, room), at = random_.integer(0, x.rank());
  if (random_.chance(0.3)) {
    dims.insert(dims.begin(), extent);
    return keep(broadcast_to(x, dims), bound, exact);
  }
  dims.insert(dims.begin() + at, extent);
  Ints axes;
  for (int64_t a = 0; a <= x.rank(); ++a) {
    if (a != at) axes.push_back(a);
  }
  keep(broadcast_axes(x, dims, axes), bound, exact);
}

// --- reductions

void Builder::sums() {
  Item& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  const Ints axes = some_axes(x.rank(), true);
  double terms = 1;
  for (const int64_t axis : axes) terms *= static_cast<double>(x.size(axis));
  const bool keep_dims = random_.chance(0.3);
  if (random_.chance(0.5)) return keep(mean(x, axes, keep_dims), bound);
  if (random_.chance(0.3)) return keep(x * 0.5 - mean(x, axes, true), 2 * bound);
  keep(sum(x, axes, keep_dims), bound * terms);
}

void Builder::extrema() {
  Item& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const Ints axes = some_axes(x.rank(), true);
  const bool keep_dims = random_.chance(0.3);
  const int64_t which = random_.integer(0, 2);
  if (which < 2) return keep(which == 0 ? max(x, axes, keep_dims) : min(x, axes, keep_dims), bound, exact);
  keep(prod(select(x < 0.0, full_like(x, -1), full_like(x, 1)), axes, keep_dims), 1, exact);  // in any order the same
}

void Builder::arg_maximum() {
  Item& item = pick_exact();
  if (item.tensor.rank() == 0) return;
  const Tensor x = use(item);
  keep(cast(argmax(x, random_.integer(0, x.rank() - 1)), options_.dtype), 9, true);
}

void Builder::moments_step() {
  Item& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  const Moments m = moments(x, some_axes(x.rank(), true));
  if (random_.chance(0.5)) keep(cast(m.mean, options_.dtype), bound);
  keep(cast(m.variance, options_.dtype), bound * bound);
}

void Builder::euclidean() {
  Item& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  keep(norm(x, some_axes(x.rank(), true), random_.chance(0.3)), bound * static_cast<double>(x.type().elements()));
}

// --- library and windows

void Builder::product() {
  Item& item = pick_rank(2, 4);
  const double bound = item.bound;
  const Tensor a = use(item);
  const bool ta = random_.chance(0.4), tb = random_.chance(0.4);
  const int64_t inner = a.size(ta ? -2 : -1), columns = random_.integer(1, 9);
  Dims dims = a.shape();
  dims[dims.size() - 2] = tb ? columns : inner;
  dims[dims.size() - 1] = tb ? inner : columns;
  const Item other = fresh(dims);
  keep(matmul(a, other.tensor, ta, tb), bound * other.bound * static_cast<double>(inner));
}

// A (N, C, H, W) tensor: one of the pool, or a new one.
Tensor Builder::image() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Item& item = pick();
    if (item.tensor.rank() == 4 && item.bound <= 8) return use(item);
  }
  return leaf({random_.integer(1, 3), random_.integer(1, 2) * random_.integer(1, 2), random_.integer(3, 8),
               random_.integer(3, 8)});
}

Window Builder::window(const Dims& image, bool dilated) {
  Window w;
  w.kernel = {};
  for (size_t a = 0; a < 2; ++a) {
    const int64_t extent = image[2 + a], kernel = random_.integer(1, std::min<int64_t>(3, extent));
    w.kernel.push_back(kernel);
    w.stride[a] = random_.integer(1, 3);
    w.padding[a] = random_.integer(0, kernel / 2);
    const bool fits = dilated && 2 * (kernel - 1) + 1 <= extent + 2 * w.padding[a];
    w.dilation[a] = fits && random_.chance(0.3) ? 2 : 1;
  }
  return w;
}

void Builder::convolution_step() {
  const Tensor x = image();
  const Window w = window(x.shape(), true);
  const int64_t channels = x.size(1), groups = channels % 2 == 0 && random_.chance(0.4) ? 2 : 1;
  const Tensor weight = leaf({groups * random_.integer(1, 3), channels / groups, w.kernel[0], w.kernel[1]});
  const double terms = static_cast<double>(channels / groups * w.kernel[0] * w.kernel[1]);
  keep(convolution(x, weight, w, groups), 48 * terms);
}

// The two gradients of a convolution, as ops of their own.
void Builder::convolution_gradients() {
  const Tensor x = image();
  const Window w = window(x.shape(), true);
  const int64_t groups = x.size(1) % 2 == 0 && random_.chance(0.4) ? 2 : 1;
  const Tensor weight = leaf({groups * random_.integer(1, 2), x.size(1) / groups, w.kernel[0], w.kernel[1]});
  const Tensor y = tanh(convolution(x, weight, w, groups));
  if (random_.chance(0.5)) {
    keep(convolution_input_grad(y, weight, w, groups, {x.size(2), x.size(3)}, x.size(1)), 64);
  } else {
    keep(cast(convolution_weight_grad(x, y, w, groups), options_.dtype), 256);
  }
}

void Builder::average_pooling() {
  const Tensor x = image();
  if (random_.chance(0.3)) return keep(global_avg_pool(x), 8);
  const int64_t kernel = random_.integer(1, std::min<int64_t>({3, x.size(2), x.size(3)}));
  keep(avg_pool2d(x, {.kernel = kernel, .stride = random_.integer(0, 2), .padding = random_.integer(0, kernel / 2)}),
       8);
}

void Builder::maximum_pooling() {
  const Tensor x = leaf({random_.integer(1, 3), random_.integer(1, 3), random_.integer(3, 8), random_.integer(3, 8)});
  const Window w = window(x.shape(), false);
  const MaxPool pooled = max_pool_with_index(x, w, {2, 3});
  if (random_.chance(0.3)) keep(cast(pooled.index, options_.dtype), 64, true);
  keep(pooled.value, 6, true);
}

// --- indexed

void Builder::gathering() {
  Item& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor table = use(item);
  const int64_t row = table.type().elements() / table.size(0);
  const Dims dims = row > 60 ? Dims{random_.integer(1, 5)} : shape(0, 1);
  keep(gather(table, indices(dims, table.size(0))), bound, exact);
}

void Builder::cropping() {
  Item& item = pick_rank(3, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const Ints size = {random_.integer(1, 9), random_.integer(1, 20)};
  keep(crop(x, indices({x.size(0), 3}, 5) - 2.0, size), bound, exact);
}

void Builder::scattering() {
  Item& item = pick_rank(1, 4);
  const double bound = item.bound;
  const Tensor updates = use(item);
  const int64_t rows = random_.integer(1, 9);
  keep(scatter_add(indices({updates.size(0)}, rows), updates, rows), bound * static_cast<double>(updates.size(0)));
}

void Builder::selecting_classes() {
  const int64_t classes = random_.integer(2, 9), samples = random_.integer(1, 9);
  const Tensor labels = indices({samples}, classes);
  if (random_.chance(0.5)) return keep(one_hot(labels, classes, options_.dtype), 1, true);
  keep(cast(argmax_equals(leaf({samples, classes}), labels), options_.dtype), 1, true);
}

// --- composites and markers

void Builder::softmaxes() {
  Item& item = pick_rank(2, 2);
  const double bound = item.bound;
  const Tensor x = use(item);
  switch (random_.integer(0, 2)) {
    case 0:
      return keep(softmax(x, random_.integer(-2, 1)), 1);
    case 1:
      return keep(log_softmax(x), 2 * bound + 5);
    default:
      return keep(cross_entropy(x, indices({x.size(0)}, x.size(1)), 0.125), 2 * bound + 5);
  }
}

void Builder::normalisation() {
  Item& item = pick_rank(2, 4);
  const Tensor x = use(item);
  const std::string name = fresh_name("norm");
  const bool by_channel = x.rank() != 3 && x.type().elements() > x.size(1);
  if (by_channel && random_.chance(0.5)) return keep(batch_norm(name, x, {.epsilon = 0.125}), 6);
  keep(layer_norm(name, x, {.axes = random_.integer(1, x.rank() - 1), .epsilon = 0.125}), 6);
}

void Builder::markers() {
  Item& item = pick();
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  // Several workers have sums that are outputs alone.
  if (options_.split) {
    graph_.outputs.push_back({fresh_name("sum"), worker_sum(x).value(), Merge::sum});
    return keep(x * 0.5, bound, exact);
  }
  // Finite differences would see through stop_gradient.
  if (options_.smooth || random_.chance(0.3)) return keep(worker_sum(x), bound, exact);
  keep(x + stop_gradient(x) * 0.5, 1.5 * bound);
}

void Builder::dropping() {
  Item& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  keep(dropout(fresh_name("dropout"), x, 0.5), 2 * bound, exact);
}

void Builder::state_step() {
  Item& item = pick();
  const double bound = item.bound;
  const Tensor x = use(item);
  const Tensor old = state(graph_, fresh_name("state"), {options_.dtype, x.shape(), ""}, {InitKind::constant, 0.5, 0});
  Tensor added = x * 0.25;
  if (x.rank() == 2 && x.size(0) == x.size(1)) added = added + transpose(old * 0.125, {1, 0});
  write_state(old, old * 0.75 + added);
  if (random_.chance(0.5)) keep(x + old, bound + 6);
  if (random_.chance(0.5)) keep(old, 6);
}

// --- integers and booleans

Tensor Builder::whole(DType dtype, const Dims& shape) { return given("k", dtype, shape); }

Tensor Builder::pick_whole() {
  static const std::vector<DType> dtypes = {DType::i32, DType::u32, DType::u8, DType::boolean};
  if (!whole_.empty() && random_.chance(0.7))
    return whole_[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(whole_.size()) - 1))];
  return whole(random_.pick(dtypes), shape(0, 5));
}

Tensor Builder::whole_pointwise(Tensor a) {
  static const std::vector<Op> arithmetic = {Op::add,     Op::sub,    Op::mul,     Op::div,        Op::maximum,
                                             Op::minimum, Op::bit_or, Op::bit_and, Op::shift_left, Op::shift_right};
  static const std::vector<Op> bitwise = {Op::bit_and, Op::bit_or, Op::bit_xor};
  static const std::vector<Op> unary = {Op::neg, Op::abs, Op::sign, Op::relu};
  static const std::vector<Op> comparisons = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
  static const std::vector<DType> dtypes = {DType::i32, DType::u32, DType::u8, DType::boolean};
  const bool boolean = a.dtype() == DType::boolean;
  const Tensor b = random_.chance(0.3) ? a : whole(a.dtype(), broadcastable(a.shape()));
  switch (random_.integer(0, 5)) {
    case 0:
      return pointwise(random_.pick(comparisons), {a, b});
    case 1:
      return boolean ? logical_not(a) : pointwise(random_.pick(unary), {a});
    case 2:
      return cast(a, random_.pick(dtypes));
    case 3:
      return select(pointwise(random_.pick(comparisons), {a, b}), a, b);
    case 4:
      return a.dtype() == DType::u32 ? mul_high(a, b) : pointwise(random_.pick(bitwise), {a, b});
    default:
      return pointwise(random_.pick(boolean ? bitwise : arithmetic), {a, b});
  }
}

Tensor Builder::whole_move(Tensor a) {
  if (a.rank() == 0) return broadcast_to(a, {random_.integer(1, 7)});
  const int64_t axis = random_.integer(0, a.rank() - 1), extent = a.size(axis);
  const bool boolean = a.dtype() == DType::boolean;
  Ints perm;
  switch (random_.integer(0, 7)) {
    case 0:
      for (int64_t i = 0; i < a.rank(); ++i) perm.insert(perm.begin() + random_.integer(0, i), i);
      return transpose(a, perm);
    case 1:
      return slice(a, axis, extent > 1 ? random_.integer(0, extent - 1) : 0, extent, random_.integer(1, 3));
    case 2:
      return concat({a, slice(a, axis, 0, 1)}, axis);
    case 3:
      return pad(a, Ints(a.shape().size(), 1), Ints(a.shape().size(), 0), 1);
    case 4:
      return gather(a, indices({random_.integer(1, 5)}, a.size(0)));
    case 5:
      return boolean ? cast(a, DType::i32) : sum(a, {axis}, random_.chance(0.5));
    case 6:
      return boolean ? reshape(a, {-1}) : random_.chance(0.5) ? max(a, {axis}) : min(a, {axis});
    default:
      return boolean ? logical_not(a) : argmax(a, axis);
  }
}

void Builder::whole_numbers() {
  const Tensor a = pick_whole();
  const Tensor made = random_.chance(0.5) ? whole_pointwise(a) : whole_move(a);
  if (made.type().elements() <= 4 * options_.max_elements) whole_.push_back(made);
}

// --- the whole

Graph Builder::run() {
  std::vector<Step> drawn;
  for (const Step& step : steps()) {
    if (options_.smooth && !step.smooth) continue;
    drawn.insert(drawn.end(), static_cast<size_t>(step.weight), step);
  }
  if (options_.whole) drawn.insert(drawn.end(), drawn.size() / 3, {false, 1, &Builder::whole_numbers});
  for (int64_t leaves = random_.integer(1, 3); leaves > 0; --leaves) pool_.push_back(fresh(shape(0, 5)));
  for (int64_t left = random_.integer(options_.min_steps, options_.max_steps); left > 0; --left) {
    (this->*random_.pick(drawn).make)();
  }
  if (options_.smooth) {
    finish_loss();
  } else {
    finish();
  }
  return std::move(graph_);
}

// Makes outputs of all values that nothing else uses, and of a few inner values too.
void Builder::finish() {
  for (Item& item : pool_) {
    if (item.used && !random_.chance(0.1)) continue;
    graph_.outputs.push_back({"out" + std::to_string(graph_.outputs.size()), item.tensor.value(), Merge::sum});
  }
  for (const Tensor& tensor : whole_)
    graph_.outputs.push_back({"whole" + std::to_string(graph_.outputs.size()), tensor.value(), Merge::sum});
}

void Builder::finish_loss() {
  Tensor loss;
  for (Item& item : pool_) {
    if (item.used) continue;
    const Tensor term = mean(item.tensor * tanh(item.tensor * 0.5));
    loss = loss.valid() ? loss + term : term;
  }
  graph_.outputs.push_back({"loss", loss.value(), Merge::sum});
}

// By node: whether a convolution or moments depend on it.
std::vector<bool> read_as_finite(const Graph& graph) {
  std::vector<bool> read(graph.nodes.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    static const std::set<Op> ops = {Op::conv2d, Op::conv2d_input_grad, Op::conv2d_weight_grad, Op::moments};
    if (ops.contains(node.op) || read[n])
      for (const Value input : node.inputs) read[static_cast<size_t>(input.node)] = true;
  }
  return read;
}

std::set<std::string> names_read_as_finite(const Graph& graph) {
  const std::vector<bool> read = read_as_finite(graph);
  std::set<std::string> names;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (const Node& node = graph.nodes[n]; read[n] && (node.op == Op::input || node.op == Op::variable))
      names.insert(node.attrs.text("name"));
  return names;
}

}  // namespace

Graph random_graph(uint32_t seed, const RandomGraphOptions& options) { return Builder(seed, options).run(); }

Bindings special_bindings(const Graph& graph, uint32_t seed) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> floats = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, -0.0, 0x1p-140, -0x1p-130};
  const std::vector<double> whole = {2147483647.0, 2147483648.0, 4294967295.0, 255, 128, 31, 32, 33, 0};
  Random random(seed + 77777);
  Bindings bindings = random_bindings(graph, seed);
  const std::set<std::string> finite = names_read_as_finite(graph);
  for (auto& [name, array] : bindings) {
    const bool is_whole = !is_float(array.type.dtype);
    if (array.type.rank() == 0 || finite.contains(name) || (is_whole ? name[0] != 'k' : !random.chance(0.33))) continue;
    for (int64_t left = random.integer(1, is_whole ? array.type.elements() : 2); left > 0; --left) {
      const auto at = static_cast<size_t>(random.integer(0, array.type.elements() - 1));
      array.data[at] = round_to(array.type.dtype, random.pick(is_whole ? whole : floats));
    }
  }
  return bindings;
}

}  // namespace kb::test
