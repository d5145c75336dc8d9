#include "tests/simt/emulated_graphs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/text.h"
#include "tests/compiler/compiled_kernels.h"

namespace kb::simt {
namespace {

constexpr double kSumTolerance = 1e-5;  // of the sum of the absolute values of the terms, in f32

std::map<std::string, Array> run(const test::Judged& judged, StoreBytes& store, const KernelRunner& kernels) {
  for (const auto& [name, array] : judged.bindings) store[name] = to_bytes(array);
  run_schedule(judged.compiled.program.prepare, judged.bindings, store, kernels);
  return run_schedule(judged.compiled.program.final, judged.bindings, store, kernels);
}

void compare_sums(const std::string& name, const Array& expected, const Array& terms, const Array& got) {
  for (size_t i = 0; i < expected.data.size(); ++i)
    if (!(std::abs(expected.data[i] - got.data[i]) <= kSumTolerance * terms.data[i]))
      BOOST_FAIL("output " << name << ", element " << i << ": expected " << expected.data[i] << ", got " << got.data[i]
                           << ", sum of absolute values " << terms.data[i]);
}

KernelRunner compiled_for_cpu(const std::vector<ir::Kernel>& kernels) {
  return [entries = test::compile_kernels(kernels, test::vector_widths().back())](
             const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
             std::span<const ir::Memory> buffers) {
    std::vector<void*> pointers;
    for (const ir::Memory& buffer : buffers) pointers.push_back(buffer.data);
    const std::vector<long> numbers(arguments.begin(), arguments.end());
    for (size_t phase = 0; phase < tiles.size(); ++phase)
      entries.at(kernel.name)(pointers.data(), numbers.data(), static_cast<long>(phase), 0, tiles[phase]);
  };
}

}  // namespace

test::CheckOptions on_gpu(double tolerance) {
  test::CheckOptions options;
  options.tolerance = tolerance;
  options.check_passes = false;
  options.target = gpu_target("sm_90");
  return options;
}

void EmulatedGraphs::add(const std::string& name, const Graph& graph, const test::CheckOptions& options) {
  cases_.push_back({name, graph, options, test::compile_and_interpret(graph, options)});
  kernels_.add(cases_.back().judged.compiled.program.prepare);
  kernels_.add(cases_.back().judged.compiled.program.final);
}

void EmulatedGraphs::add_exact(const std::string& name, const Graph& graph, const test::CheckOptions& options) {
  add(name, graph, options);
  cases_.back().exact = true;
  test::CheckOptions cpu = options;
  cpu.target = generic_cpu_target();
  cases_.back().on_cpu = test::compile_and_interpret(graph, cpu);
}

void EmulatedGraphs::check() {
  kernels_.compile();
  std::map<std::string, ir::Kernel> distinct;
  for (const Case& c : cases_)
    for (const Schedule* schedule : {&c.on_cpu.compiled.program.prepare, &c.on_cpu.compiled.program.final})
      for (const ir::Kernel& kernel : schedule->kernels) distinct.try_emplace(kernel.name, kernel);
  std::vector<ir::Kernel> kernels;
  for (const auto& [name, kernel] : distinct) kernels.push_back(kernel);
  if (!kernels.empty()) cpu_kernels_ = compiled_for_cpu(kernels);
  for (const Case& c : cases_) {
    BOOST_TEST_CONTEXT(c.name << "\n" << to_text(c.graph)) {
      try {
        judge(c);
      } catch (const Fault& fault) {
        BOOST_ERROR(fault.what());
      } catch (const Error& error) {
        BOOST_ERROR(error.what());
      } catch (const InternalError& error) {
        BOOST_ERROR(error.what());
      }
    }
  }
}

void EmulatedGraphs::judge(const Case& c) {
  StoreBytes store;
  const std::map<std::string, Array> outputs = run(c.judged, store, kernels_.runner());
  const auto& expected = c.judged.expected.outputs;
  for (const auto& [name, array] : expected) {
    if (const auto terms = expected.find(name + ".abs"); terms != expected.end())
      compare_sums(name, array, terms->second, outputs.at(name));
    else
      test::compare(c.graph, "output " + name, array, outputs.at(name), c.options.tolerance);
  }
  for (const auto& [name, array] : c.judged.expected.writes)
    test::compare(c.graph, "state " + name, array, from_bytes(c.judged.types.at(name), store.at(name).data()),
                  c.options.tolerance);
  if (c.exact) compare_with_cpu(c, outputs, store);
}

void EmulatedGraphs::compare_with_cpu(const Case& c, const std::map<std::string, Array>& outputs,
                                      const StoreBytes& store) {
  StoreBytes on_cpu;
  for (const auto& [name, array] : run(c.on_cpu, on_cpu, cpu_kernels_))
    BOOST_TEST((to_bytes(array) == to_bytes(outputs.at(name))), "the CPU has other bits in output " << name);
  for (const auto& [name, array] : c.on_cpu.expected.writes)
    BOOST_TEST((store.at(name) == on_cpu.at(name)), "the CPU has other bits in state " << name);
}

}  // namespace kb::simt
