#include "runtime/cuda/product_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "compiler/pipeline/pipeline.h"
#include "graph/functions.h"
#include "runtime/cuda/trials.h"

namespace kb::cuda {
namespace {

constexpr const char *kOwn = "own", *kLibrary = "library", *kModel = "model";

const char* kind_of(Op op) {
  return op == Op::conv2d ? "forward" : op == Op::conv2d_input_grad ? "input_grad" : "weight_grad";
}

// Returns "product forward bf16 802816 x 64 x 256": rows, depth and columns.
std::string key_of(const Graph& graph, const Node& node) {
  const Type &type = node.type(), &from = graph.type(node.inputs[0]);
  const int64_t columns = type.shape.back(), channels = from.shape.back();
  const int64_t depth = node.op == Op::conv2d_weight_grad ? from.elements() / channels : channels;
  return fmt::format("product {} {} {} x {} x {}", kind_of(node.op), name(from.dtype), type.elements() / columns, depth,
                     columns);
}

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
// read as it is, in 16 bits, which both sides can give.
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

// A side is one way to compute the example, loaded.
class Side {
 public:
  Side(const Environment& environment, const Graph& example, Products products)
      : schedule_(compiled(environment.target, example, products)) {
    const Schedule* const one = &schedule_;
    LoadReport report;
    executable_ = std::move(make_executables({&one, 1}, environment, report).at(0));
  }

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

 private:
  static Schedule compiled(Target target, const Graph& example, Products products) {
    CompileOptions options;
    options.target = std::move(target);
    options.target.products = products;  // no question about the example leads to trials again
    return compile_program(example, options);
  }

  const Schedule schedule_;
  std::unique_ptr<Executable> executable_;
};

// Returns null for a side that cannot be compiled or loaded. Throws when that made the device fail.
std::unique_ptr<Side> load(const Environment& environment, const Graph& example, Products products) {
  const OpenDevice& device = environment.device;
  try {
    return std::make_unique<Side>(environment, example, products);
  } catch (const std::exception&) {
    if (device.driver.stream_synchronize.function(device.compute) != kSuccess) throw;
    return nullptr;
  }
}

bool fits_twice(const Driver& driver, std::span<const TrialOperand> operands) {
  int64_t bytes = 0;
  for (const TrialOperand& operand : operands) bytes += operand.bytes;
  size_t free = 0, total = 0;
  driver(driver.memory_info, &free, &total);
  return 2 * bytes <= static_cast<int64_t>(free);
}

}  // namespace

std::optional<bool> ProductTrials::own_product(const Graph& graph, const Node& node) {
  const std::string key = key_of(graph, node);
  const LibraryPicks picks = environment_.library.algorithm_choices();
  const auto known = picks.find(key);
  const std::string pick = known != picks.end() ? known->second : measured(key, graph, node);
  if (known == picks.end()) environment_.library.add_choice(key, pick);
  if (pick == kOwn || pick == kLibrary) return pick == kOwn;
  return {};
}

// The questions and plans of the library's side make the library choose its own implementation before it is timed.
std::string ProductTrials::measured(const std::string& key, const Graph& graph, const Node& node) const {
  const OpenDevice& device = environment_.device;
  const Graph example = example_of(graph, node);
  const std::unique_ptr<Side> own = load(environment_, example, Products::all);
  if (!own) return kLibrary;
  const std::unique_ptr<Side> library = load(environment_, example, Products::none);
  if (!library) return kOwn;

  std::vector<std::string> inputs;
  std::vector<TrialOperand> operands;
  for (const Node& each : example.nodes) {
    if (each.op != Op::input) continue;
    inputs.push_back(each.attrs.text("name"));
    operands.push_back({each.type().bytes(), each.type().dtype});
  }
  const int64_t arena = std::max(own->schedule().arena_bytes, library->schedule().arena_bytes);
  operands.push_back({arena, node.type().dtype});
  if (!fits_twice(device.driver, operands)) return kModel;

  const DeviceHandles handles{device.driver, device.handle, device.compute, device.capability};
  const CallMemory memory(handles, operands, 0);
  const std::array<Side*, 2> sides = {own.get(), library.get()};
  const std::array<const char*, 2> picks = {kOwn, kLibrary};
  return picks.at(fastest(handles, memory,
                          {"our kernels and " + environment_.library.name(), key, sides.size(),
                           [&](size_t i) { return std::string(picks.at(i)); },
                           [&](size_t i, size_t copy) { sides.at(i)->enqueue(memory, copy, inputs); }}));
}

}  // namespace kb::cuda
