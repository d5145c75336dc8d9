#include "runtime/cuda/product_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/pipeline/pipeline.h"
#include "graph/dtype.h"
#include "graph/functions.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/trials.h"

namespace kb::cuda {
namespace {

constexpr const char *kWarpgroups = "warpgroups", *kWarps = "warps", *kLibrary = "library", *kModel = "model";

// Two sides round sums of other orders to 16 bits: their results differ by 0.4 % at most, in the mean by less.
constexpr double kTolerance = 0.02;
constexpr int64_t kComparedBytes = 1 << 20;                  // at each end of a result; sums tell of what lies between
using Results = std::map<std::string, std::vector<double>>;  // keys are names

const char* kind_of(Op op) {
  return op == Op::conv2d ? "forward" : op == Op::conv2d_input_grad ? "input_grad" : "weight_grad";
}

// Returns "matrices forward bf16 802816 x 64 x 256": rows, depth and columns.
std::string key_of(const Graph& graph, const Node& node) {
  const Type &type = node.type(), &from = graph.type(node.inputs[0]);
  const int64_t columns = type.shape.back(), channels = from.shape.back();
  const int64_t depth = node.op == Op::conv2d_weight_grad ? from.elements() / channels : channels;
  return fmt::format("matrices {} {} {} x {} x {}", kind_of(node.op), name(from.dtype), type.elements() / columns,
                     depth, columns);
}

// ---- the program around a product

void add_output(const char* name, Tensor value) { value.graph().outputs.push_back({name, value.value()}); }

// Adds what a block reads of its convolution's result: batch norm's moments.
void add_forward(Tensor y, const Ints& pixels) {
  const Moments m = moments(cast(y, DType::f32), pixels);
  add_output("y", y);
  add_output("mean", m.mean);
  add_output("variance", m.variance);
}

// Adds what the block before reads of the gradient: the mask of its relu, the gradient that came past the convolution,
// and the sums of its batch norm.
void add_backward(Tensor dx, const Ints& pixels) {
  const auto beside = [&](const char* name) { return input(dx.graph(), name, dx.dtype(), dx.shape()); };
  const Tensor d = select(beside("z") > 0.0, dx + beside("other"), 0.0), wide = cast(d, DType::f32);
  add_output("d", d);
  add_output("bias", sum(wide, pixels));
  add_output("weight", sum(wide * cast(beside("x2"), DType::f32), pixels));
}

// Returns a program that computes the product, and from it what a step of a residual net does. A gradient of filters is
// read as it is, in 16 bits, which all sides can give.
Graph example_of(const Graph& from, Node product) {
  Graph graph("product");
  for (Value& operand : product.inputs) {
    const Type& type = from.type(operand);
    operand = input(graph, fmt::format("x{}", graph.nodes.size()), type.dtype, type.shape).value();
  }
  const Op op = product.op;
  if (op == Op::conv2d_weight_grad) {
    product.outputs[0].dtype = graph.type(product.inputs[0]).dtype;
    product.attrs.set("dtype", product.outputs[0].dtype);
  }
  Ints pixels(product.type().shape.size() - 1);
  std::iota(pixels.begin(), pixels.end(), 0);
  const Tensor result(graph, {graph.append(from, std::move(product)), 0});
  if (op == Op::conv2d) add_forward(result, pixels);
  if (op == Op::conv2d_input_grad) add_backward(result, pixels);
  if (op == Op::conv2d_weight_grad) add_output("dw", result);
  return graph;
}

// ---- its sides

// A side is one way to compute the example, loaded.
class Side {
 public:
  Side(const std::string& name, const Environment& environment, const Graph& example)
      : name_(name), schedule_(compiled(name, environment.target, example)) {
    const Schedule* const one = &schedule_;
    LoadReport report;
    executable_ = std::move(make_executables({&one, 1}, environment, report).at(0));
  }

  const std::string& name() const { return name_; }
  const Schedule& schedule() const { return schedule_; }

  // Enqueues a run on a copy of the operands: those of `inputs` by their names, then the arena.
  void enqueue(const CallMemory& memory, size_t copy, const std::vector<std::string>& inputs) {
    std::vector<std::byte*> buffers;
    for (const Buffer& buffer : schedule_.buffers) {
      const bool given = buffer.kind == BufferKind::input;
      const auto at = given ? std::ranges::find(inputs, buffer.name) - inputs.begin() : std::ssize(inputs);
      auto* const block = static_cast<std::byte*>(memory.operand(copy, static_cast<size_t>(at)));
      buffers.push_back(given ? block : block + buffer.offset);
    }
    executable_->bind(buffers);
    executable_->run();
  }

  // Runs on the first copy. Returns the elements at both ends of each result, in the order of the results' names.
  Results results(const OpenDevice& device, const CallMemory& memory, const std::vector<std::string>& inputs) {
    enqueue(memory, 0, inputs);
    Results results;
    Transfers transfers(device);
    for (const Buffer& buffer : schedule_.buffers) {
      if (buffer.kind != BufferKind::output) continue;
      const DType dtype = schedule_.graph->node(buffer.node).type().dtype;
      const auto* from = static_cast<const std::byte*>(memory.operand(0, inputs.size())) + buffer.offset;
      const int64_t part = std::min(buffer.bytes, kComparedBytes);
      std::vector<std::byte> bytes(static_cast<size_t>(part));
      for (const int64_t at : {int64_t{0}, buffer.bytes - part}) {
        transfers.download(bytes.data(), from + at, part);
        for (int64_t i = 0; i < part / size_of(dtype); ++i)
          results[buffer.name].push_back(load_element(dtype, bytes.data(), i));
      }
    }
    return results;
  }

 private:
  // No question about the example leads to trials again.
  static Schedule compiled(const std::string& name, Target target, const Graph& example) {
    CompileOptions options;
    options.target = std::move(target);
    options.target.products = name == kLibrary ? Products::none : Products::all;
    options.target.warpgroups = name == kWarpgroups;
    return compile_program(example, options);
  }

  const std::string name_;
  const Schedule schedule_;
  std::unique_ptr<Executable> executable_;
};

// The sides that are still in, those of our own first, and a note about each other one: "; warps fail".
struct Sides {
  std::vector<std::unique_ptr<Side>> in;
  std::string notes;
};

// Compiles and loads the sides. Throws when one made the device fail.
Sides load(const Environment& environment, const Graph& example) {
  const OpenDevice& device = environment.device;
  Sides sides;
  for (const std::string name : {kWarpgroups, kWarps, kLibrary}) {
    if (name == kWarpgroups && !environment.target.warpgroups) continue;
    try {
      sides.in.push_back(std::make_unique<Side>(name, environment, example));
    } catch (const std::exception&) {
      if (device.driver.stream_synchronize.function(device.compute) != kSuccess) throw;
      sides.notes += fmt::format("; {} fail", name);
    }
  }
  return sides;
}

// Returns whether no result's mean difference is more than kTolerance of its mean size. (NaN differs.)
bool agree(const Results& ours, const Results& theirs) {
  return std::ranges::all_of(theirs, [&](const auto& result) {
    const std::vector<double>& other = ours.at(result.first);
    double difference = 0, size = 0;
    for (size_t i = 0; i < other.size(); ++i) {
      difference += std::abs(other[i] - result.second[i]);
      size += std::abs(result.second[i]);
    }
    return difference <= kTolerance * size;
  });
}

// Runs each side once. Drops those that fail, and those of our own whose results differ from the library's. Throws when
// all sides fail, and when the device fails.
void drop_wrong(Sides& sides, const DeviceHandles& handles, const Trials& trials,
                const std::function<Results(Side&)>& run) {
  std::map<std::string, Results> results;
  std::exception_ptr fault;
  std::erase_if(sides.in, [&](const auto& side) {
    try {
      results[side->name()] = run(*side);
      return false;
    } catch (const std::exception&) {
      fault = std::current_exception();
      check_device(handles, trials, fmt::format("the first run of '{}'", side->name()), failure_of(fault));
      sides.notes += fmt::format("; {} fail", side->name());
      return true;
    }
  });
  if (sides.in.empty()) std::rethrow_exception(fault);
  const auto theirs = results.find(kLibrary);
  if (theirs == results.end()) return;
  std::erase_if(sides.in, [&](const auto& side) {
    if (side->name() == kLibrary || agree(results[side->name()], theirs->second)) return false;
    sides.notes += fmt::format("; {} differ", side->name());
    return true;
  });
}

bool fits_twice(const Driver& driver, std::span<const TrialOperand> operands) {
  int64_t bytes = 0;
  for (const TrialOperand& operand : operands) bytes += operand.bytes;
  return 2 * bytes <= driver.free_bytes();
}

}  // namespace

std::optional<Multiplier> ProductTrials::multiplier(const Graph& graph, const Node& node) {
  const std::string key = key_of(graph, node);
  const LibraryPicks picks = environment_.library.algorithm_choices();
  const auto known = picks.find(key);
  const std::string pick = known != picks.end() ? known->second : measured(key, graph, node);
  if (known == picks.end()) environment_.library.add_choice(key, pick);
  const std::string who = pick.substr(0, pick.find(';'));
  if (who == kWarpgroups && environment_.target.warpgroups) return Multiplier::warpgroups;
  if (who == kWarps) return Multiplier::warps;
  if (who == kLibrary) return Multiplier::library;
  return {};
}

// The questions and plans of the library's side make the library choose its own implementation before it is timed.
std::string ProductTrials::measured(const std::string& key, const Graph& graph, const Node& node) const {
  const OpenDevice& device = environment_.device;
  const Graph example = example_of(graph, node);
  Sides sides = load(environment_, example);
  if (sides.in.empty()) return kLibrary + sides.notes;

  std::vector<std::string> inputs;
  std::vector<TrialOperand> operands;
  for (const Node& each : example.nodes) {
    if (each.op != Op::input) continue;
    inputs.push_back(each.attrs.text("name"));
    operands.push_back({each.type().bytes(), each.type().dtype});
  }
  int64_t arena = 0;
  for (const auto& side : sides.in) arena = std::max(arena, side->schedule().arena_bytes);
  operands.push_back({arena, node.type().dtype});
  if (!fits_twice(device.driver, operands)) return sides.notes.empty() ? kModel : sides.in.back()->name() + sides.notes;

  const DeviceHandles handles{device.driver, device.handle, device.compute, device.capability};
  const CallMemory memory(handles, operands, 0);
  Trials trials{"our kernels and " + environment_.library.name(), key, sides.in.size(),
                [&](size_t i) { return sides.in.at(i)->name(); },
                [&](size_t i, size_t copy) { sides.in.at(i)->enqueue(memory, copy, inputs); }};
  drop_wrong(sides, handles, trials, [&](Side& side) {
    // Results of another side are no results of this one: 0xff bytes are NaN.
    device.driver(device.driver.fill_bytes, address_of(memory.operand(0, inputs.size())),
                  static_cast<unsigned char>(0xff), static_cast<size_t>(arena), device.compute);
    return side.results(device, memory, inputs);
  });
  trials.count = sides.in.size();
  return sides.in.at(fastest(handles, memory, trials))->name() + sides.notes;
}

}  // namespace kb::cuda
