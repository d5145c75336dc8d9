#include "tests/simt/launch_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/views.h"
#include "tests/support/random_numbers.h"

namespace kb::test {
namespace {

// An evaluation gets errors on purpose, to see how far they reach. In floats that are read or computed they are
// scattered, each a share of its number in either direction, or common, all the same share of the largest number. Or
// results of products of matrices are rounded the other way, now and then. A launch's own errors may reach further by a
// factor.
enum class Errors : uint8_t { none, scattered, common, rounding };
constexpr double kShare = 0x1p-23, kFactor = 8, kRounded = 0.125, kRoundedFactor = 2;

// The operands of one launch.
struct Operands {
  const Schedule& schedule;
  const Step& step;
  std::span<const ir::Memory> buffers;

  bool computes(Value v) const { return std::ranges::find(step.nodes, v.node) != step.nodes.end(); }

  // Returns where the bytes of a view lie, if one of the operands [begin, end) has all of them; else null.
  std::byte* find(View view, int64_t bytes, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      const View operand = step.operands[i];
      if (operand.buffer == view.buffer && operand.offset <= view.offset &&
          view.offset + bytes <= operand.offset + step.extents[i])
        return static_cast<std::byte*>(buffers[i].data) + (view.offset - operand.offset);
    }
    return nullptr;
  }
};

// Returns by which share of the largest element a result may be off.
double rounding_share(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 0x1p-7;
    case DType::f16:
      return 0x1p-10;
    case DType::f64:
      return 1e-13;
    default:
      return 2e-6;
  }
}

double largest(const Array& array) {
  double result = 0;
  for (const double x : array.data)
    if (std::isfinite(x)) result = std::max(result, std::abs(x));
  return result;
}

// Computes the nodes of a launch from what lies in its inputs.
class Evaluation {
 public:
  Evaluation(const Operands& operands, Errors errors) : operands_(operands), errors_(errors) {}

  const Array& value(Value v) {
    if (const auto known = values_.find(v); known != values_.end()) return known->second;
    if (!operands_.computes(v) && read(v)) return values_.at(v);
    const Node& node = operands_.schedule.graph->node(v);
    if (node.op == Op::input || node.op == Op::variable)
      throw InternalError(fmt::format("the launch computes from {}, which is no operand", node.attrs.text("name")));
    std::vector<Array> inputs;
    for (const Value input : node.inputs) inputs.push_back(value(input));
    std::vector<Array> results = evaluate_node(node, inputs);
    for (size_t out = 0; out < results.size(); ++out) {
      if (!node.inputs.empty()) disturb(results[out]);
      if (info(node.op).cls == OpClass::library) round_otherwise(results[out]);
      values_[{v.node, static_cast<int32_t>(out)}] = std::move(results[out]);
    }
    return values_.at(v);
  }

  // Returns the values that were read, each with its address.
  const std::map<Value, const std::byte*>& reads() const { return reads_; }

 private:
  // Reads a value that lies in an operand, or that is a view of one.
  bool read(Value v) {
    const Schedule& schedule = operands_.schedule;
    const Graph& graph = *schedule.graph;
    const Alias alias = resolve_alias(graph, v);
    const auto placed = schedule.views.find(alias.owner);
    if (placed == schedule.views.end() || operands_.computes(alias.owner)) return false;
    const View view{placed->second.buffer, placed->second.offset + alias.offset};
    const auto end = static_cast<size_t>(operands_.step.inputs);
    const std::byte* at = operands_.find(view, graph.type(v).bytes(), 0, end);
    if (!at) return false;
    reads_[v] = at;
    Array array = from_bytes(graph.type(v), at);
    disturb(array);
    values_[v] = std::move(array);
    return true;
  }

  void disturb(Array& array) {
    const DType dtype = array.type.dtype;
    if (!is_float(dtype)) return;
    const double share = dtype == DType::f64 ? 0x1p-52 : kShare, error = share * largest(array);
    if (errors_ == Errors::scattered)
      for (double& x : array.data) x *= 1 + (random_.chance(0.5) ? share : -share);
    if (errors_ == Errors::common)
      for (double& x : array.data) x += error;
  }

  void round_otherwise(Array& array) {
    const DType dtype = array.type.dtype;
    if (errors_ != Errors::rounding || !is_low_precision(dtype)) return;
    for (double& x : array.data)
      if (random_.chance(kRounded)) x = round_to(dtype, x * (1 + rounding_share(dtype) * random_.number(-1, 1)));
  }

  const Operands& operands_;
  const Errors errors_;
  RandomNumbers random_{1};
  std::map<Value, Array> values_;
  std::map<Value, const std::byte*> reads_;
};

double largest_difference(const Array& a, const Array& b) {
  double result = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    if (const double d = std::abs(a.data[i] - b.data[i]); std::isfinite(d)) result = std::max(result, d);
  return result;
}

// A value that a launch should leave, without and with errors.
struct Expected {
  Array right, scattered, common, rounded;

  void compare(const Array& got, const std::string& what) const {
    const DType dtype = right.type.dtype;
    const double reach = std::max(largest_difference(right, scattered), largest_difference(right, common));
    const double bound = !is_float(dtype) ? 0
                                          : kFactor * reach + kRoundedFactor * largest_difference(right, rounded) +
                                                rounding_share(dtype) * largest(right);
    for (size_t i = 0; i < got.data.size(); ++i) {
      const double a = right.data[i], b = got.data[i];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= bound) continue;
      const auto is_decided = [&](const Array& other) { return !is_float(dtype) && other.data[i] != a; };
      if (is_decided(scattered) || is_decided(common) || is_decided(rounded)) continue;  // a comparison, by an error
      throw InternalError(
          fmt::format("{}: element {} of {}: expected {}, got {}", what, i, to_string(right.type), a, b));
    }
  }
};

std::string described(const Schedule& schedule, const Step& step) {
  std::string text = "step " + step.name + ", nodes";
  for (const int32_t n : step.nodes)
    text += fmt::format(" %{} {}", n, name(schedule.graph->nodes[static_cast<size_t>(n)].op));
  return text;
}

struct Written {
  Value value;
  std::byte* at = nullptr;
};

// Returns the values that a launch writes. Each of its operands that are no scratch memory holds one.
std::vector<Written> written_by(const Operands& operands, const ir::Kernel& kernel) {
  const Graph& graph = *operands.schedule.graph;
  std::vector<Written> written(kernel.buffers.size());
  const auto add = [&](Value v) {
    const auto placed = operands.schedule.views.find(v);
    if (placed == operands.schedule.views.end() || resolve_alias(graph, v).owner != v) return;
    for (auto i = static_cast<size_t>(operands.step.inputs); i < written.size(); ++i) {
      std::byte* at = operands.find(placed->second, graph.type(v).bytes(), i, i + 1);
      if (!at || kernel.buffers[i].scratch || written[i].at) continue;
      written[i] = {v, at};
      return;
    }
  };
  for (const int32_t n : operands.step.nodes)
    for (int32_t out = 0; out < std::ssize(graph.nodes[static_cast<size_t>(n)].outputs); ++out) add({n, out});
  std::vector<Written> result;
  for (auto i = static_cast<size_t>(operands.step.inputs); i < written.size(); ++i) {
    if (kernel.buffers[i].scratch) continue;
    if (!written[i].at) throw InternalError(operands.step.name + ": an operand holds no value that the step computes");
    result.push_back(written[i]);
  }
  return result;
}

}  // namespace

KernelRunner LaunchOracle::runner() {
  return [this](const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                std::span<const ir::Memory> buffers) { launch(kernel, arguments, tiles, buffers); };
}

void LaunchOracle::launch(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                          std::span<const ir::Memory> buffers) {
  while (!schedule_.steps.at(step_).launch()) ++step_;
  const Step& step = schedule_.steps[step_++];
  const Graph& graph = *schedule_.graph;
  ensure(schedule_.kernel_of(step)->name == kernel.name, "launches come in the order of their steps");
  const std::string what = described(schedule_, step);
  std::vector<ir::Memory> own(buffers.begin(), buffers.end());
  for (size_t i = 0; i < own.size(); ++i)
    own[i].elements = std::min(own[i].elements, step.extents[i] / size_of(own[i].dtype));

  const Operands operands{schedule_, step, own};
  Evaluation right(operands, Errors::none), scattered(operands, Errors::scattered), common(operands, Errors::common),
      rounded(operands, Errors::rounding);
  const std::vector<Written> outputs = written_by(operands, kernel);
  std::vector<Expected> expected;
  for (const auto& [v, at] : outputs)
    expected.push_back({right.value(v), scattered.value(v), common.value(v), rounded.value(v)});
  for (const auto& [value, at] : right.reads()) {
    const auto left = left_.find(resolve_alias(graph, value).owner);
    if (left == left_.end() || graph.type(value).bytes() != std::ssize(left->second)) continue;
    if (std::memcmp(at, left->second.data(), left->second.size()) != 0)
      throw InternalError(fmt::format("{}: %{}.{} was overwritten before it was read", what, value.node, value.out));
  }
  try {
    run_(kernel, arguments, tiles, own);
  } catch (const std::exception& error) {
    throw InternalError(what + ": " + error.what());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [value, at] = outputs[i];
    const Type& type = graph.type(value);
    expected[i].compare(from_bytes(type, at), fmt::format("{}: %{}.{}", what, value.node, value.out));
    left_[value].assign(at, at + type.bytes());
    ++values_;
  }
}

}  // namespace kb::test
