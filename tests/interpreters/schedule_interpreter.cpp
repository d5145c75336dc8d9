#include "tests/interpreters/schedule_interpreter.h"

#include <cstring>

namespace kb {

std::vector<std::byte> to_bytes(const Array& array) {
  std::vector<std::byte> bytes(static_cast<size_t>(array.type.bytes()));
  for (size_t i = 0; i < array.data.size(); ++i)
    store_element(array.type.dtype, bytes.data(), static_cast<int64_t>(i), array.data[i]);
  return bytes;
}

Array from_bytes(const Type& type, const std::byte* data) {
  Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
  for (size_t i = 0; i < array.data.size(); ++i)
    array.data[i] = load_element(type.dtype, data, static_cast<int64_t>(i));
  return array;
}

namespace {

class Runner {
 public:
  Runner(const Schedule& schedule, const Bindings& inputs, StoreBytes& store, const KernelRunner& run_kernel)
      : schedule_(schedule), graph_(*schedule.graph), store_(store), run_kernel_(run_kernel) {
    arena_.resize(static_cast<size_t>(schedule.arena_bytes), std::byte{0xa5});
    for (const Buffer& buffer : schedule.buffers) bases_.push_back(base(buffer, inputs));
  }

  std::map<std::string, Array> run() {
    for (const Step& step : schedule_.steps) std::visit([&](const auto& work) { run(step, work); }, step.work);
    std::map<std::string, Array> outputs;
    for (const Output& output : graph_.outputs)
      outputs[output.name] = from_bytes(graph_.type(output.value), address(schedule_.views.at(output.value)));
    return outputs;
  }

 private:
  std::byte* base(const Buffer& buffer, const Bindings& inputs) {
    if (buffer.kind == BufferKind::input) return (inputs_[buffer.name] = to_bytes(inputs.at(buffer.name))).data();
    if (buffer.kind != BufferKind::store) return arena_.data() + buffer.offset;
    std::vector<std::byte>& bytes = store_[buffer.name];
    if (bytes.empty()) bytes.resize(static_cast<size_t>(buffer.bytes));
    return bytes.data();
  }

  std::byte* address(View view) const { return bases_[static_cast<size_t>(view.buffer)] + view.offset; }

  // The interpreter is one process alone, so an all-reduce in place changes nothing.
  void run(const Step&, const ExchangeStart&) {}
  void run(const Step&, const ExchangeWait&) {}

  void run(const Step& step, const Copies& copies) {
    std::byte* whole = address(step.operands.back());
    for (const Copies::Part& part : copies.parts) {
      std::byte* to = whole + part.to;
      const auto bytes = static_cast<size_t>(part.bytes);
      if (part.from < 0)
        std::memset(to, 0, bytes);
      else
        std::memcpy(to, address(step.operands[static_cast<size_t>(part.from)]), bytes);
    }
  }

  void run(const Step& step, const KernelLaunch& launch) {
    const ir::Kernel& kernel = schedule_.kernels[static_cast<size_t>(launch.kernel)];
    std::vector<ir::Memory> buffers;
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      View view = step.operands[i];
      int64_t bytes = schedule_.buffers[static_cast<size_t>(view.buffer)].bytes - view.offset;
      const ir::BufferParam& param = kernel.buffers[i];
      buffers.push_back({param.dtype, address(view), bytes / size_of(param.dtype), param.read && !param.scratch});
    }
    for (size_t i = 0; i < kernel.buffers.size(); ++i)
      if (kernel.buffers[i].scratch && kernel.buffers[i].dtype == DType::u32)
        std::memset(buffers[i].data, 0, static_cast<size_t>(buffers[i].elements) * sizeof(uint32_t));
    run_kernel_(kernel, launch.arguments, launch.tiles, buffers);
  }

  void run(const Step& step, const LibraryCall& call) {
    const Node& node = schedule_.node_of(step);
    std::vector<Array> arrays;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      arrays.push_back(from_bytes(graph_.type(node.inputs[i]), address(step.operands[i])));
    const std::vector<Array> results = evaluate_node(node, arrays);
    if (results.size() > 1) return store(step, results);
    Array result = results[0];
    Value last{step.nodes.front(), 0};
    for (int32_t n : step.nodes) {
      if (n == step.nodes.front()) continue;
      const Node& next = graph_.node(n);
      std::vector<Array> operands;
      for (Value input : next.inputs) operands.push_back(input == last ? result : bias(step, call.epilogue, input));
      result = evaluate_node(next, operands)[0];
      last = {n, 0};
    }
    store(step, {result});
  }

  void store(const Step& step, const std::vector<Array>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      const std::vector<std::byte> bytes = to_bytes(results[i]);
      std::memcpy(address(step.operands[static_cast<size_t>(step.inputs) + i]), bytes.data(), bytes.size());
    }
  }

  // Returns the array that an epilogue's sum adds: the bias vector spread over the result.
  Array bias(const Step& step, const Epilogue& epilogue, Value spread) const {
    Array vector = from_bytes(graph_.type(epilogue.bias), address(step.operands[static_cast<size_t>(step.inputs) - 1]));
    return evaluate_node(graph_.node(spread), std::vector<Array>{vector})[0];
  }

  const Schedule& schedule_;
  const Graph& graph_;
  StoreBytes& store_;
  const KernelRunner& run_kernel_;
  std::map<std::string, std::vector<std::byte>> inputs_;
  std::vector<std::byte> arena_;
  std::vector<std::byte*> bases_;
};

}  // namespace

std::map<std::string, Array> run_schedule(const Schedule& schedule, const Bindings& inputs, StoreBytes& store,
                                          const KernelRunner& run_kernel) {
  return Runner(schedule, inputs, store, run_kernel).run();
}

}  // namespace kb
