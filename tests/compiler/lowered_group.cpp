#include "tests/compiler/lowered_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/fuse/fuse.h"
#include "compiler/passes/passes.h"
#include "compiler/print/cuda.h"
#include "graph/text.h"
#include "tests/interpreters/schedule_interpreter.h"
#include "tests/interpreters/verify_kernel.h"

namespace kb::test {
namespace {

bool is_kernel(const Graph& graph, const Group& group) {
  return group.cls != FusionClass::library &&
         !(group.cls == FusionClass::copy && graph.node(group.outputs.at(0)).op == Op::concat);
}

void compare(const Type& type, const std::byte* got, const Array& expected, double tolerance) {
  const Array result = from_bytes(type, got);
  double scale = 1;
  for (const double x : expected.data)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  for (size_t i = 0; i < result.data.size(); ++i) {
    const double a = result.data[i], b = expected.data[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::abs(a - b) <= tolerance * scale) continue;
    BOOST_ERROR("element " << i << ": " << a << ", the graph interpreter has " << b);
    return;
  }
}

}  // namespace

std::vector<Group> kernel_groups(const Graph& graph, const Target& target) {
  std::vector<Group> groups = fuse(graph, target);
  std::erase_if(groups, [&](const Group& group) { return !is_kernel(graph, group); });
  return groups;
}

GroupRun prepare_group(const Graph& graph, const Group& group, const Target& target, uint32_t seed) {
  GroupRun run{lower(graph, group, target), {}, {}, {}};
  ir::verify(run.lowered.kernel);
  const std::vector<Value>& operands = run.lowered.operands;
  const Bindings bindings = random_bindings(graph, seed);
  run.expected = interpret_values(graph, bindings, operands.empty() ? std::vector<Value>{} : group.outputs);
  const std::vector<Array> inputs = interpret_values(graph, bindings, group.inputs);
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType dtype = run.lowered.kernel.buffers[i].dtype;
    if (i < inputs.size())
      run.bytes.push_back(to_bytes(inputs[i]));
    else if (operands[i].valid())
      run.bytes.emplace_back(static_cast<size_t>(graph.type(operands[i]).bytes()));
    else
      run.bytes.emplace_back(static_cast<size_t>(run.lowered.scratch_bytes[i]));
    const auto elements = static_cast<int64_t>(run.bytes.back().size()) / size_of(dtype);
    run.memory.push_back({dtype, nullptr, elements, i < inputs.size()});
  }
  for (size_t i = 0; i < run.bytes.size(); ++i) run.memory[i].data = run.bytes[i].data();
  return run;
}

void check_group(const Graph& graph, const Group& group, const Target& target, double tolerance, uint32_t seed) {
  const GroupRun run = prepare_group(graph, group, target, seed);
  ir::run(run.lowered.kernel, run.lowered.arguments, run.lowered.tiles, run.memory);
  for (size_t i = 0; i < group.outputs.size(); ++i)
    compare(graph.type(group.outputs[i]), run.bytes[group.inputs.size() + i].data(), run.expected[i], tolerance);
}

void check_lowering(Graph graph, double tolerance, uint32_t seed) {
  counts_to_extents(graph);
  BOOST_TEST_CONTEXT(to_text(graph)) {
    for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")})
      for (const Group& group : kernel_groups(graph, target)) {
        BOOST_TEST_CONTEXT(name(group.cls) << " on " << target.isa) {
          try {
            check_group(graph, group, target, tolerance, seed);
          } catch (const std::exception& error) {
            BOOST_ERROR(error.what());
          }
        }
      }
  }
}

std::string lowered_text(Graph graph, const Target& target) {
  counts_to_extents(graph);
  std::string text;
  for (const Group& group : kernel_groups(graph, target)) {
    if (!text.empty()) text += "\n";
    text += ir::to_text(lower(graph, group, target).kernel);
  }
  return text;
}

std::string cuda_text(Graph graph, const Target& target) {
  counts_to_extents(graph);
  std::string text;
  for (const Group& group : kernel_groups(graph, target)) {
    ir::Kernel kernel = lower(graph, group, target).kernel;
    kernel.name = fmt::format("k_{}", kernel.kind);
    text += (text.empty() ? "" : "\n") + print_cuda(kernel);
  }
  return text;
}

}  // namespace kb::test
