#include "tests/simt/kernel_graphs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/text.h"

namespace kb::test {
namespace {

constexpr double kSumTolerance = 1e-5;  // of the sum of the absolute values of the terms, in f32

std::map<std::string, Array> run(const Judged& judged, StoreBytes& store, const KernelRunner& kernels) {
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

}  // namespace

CheckOptions on_gpu(double tolerance) {
  CheckOptions options;
  options.tolerance = tolerance;
  options.check_passes = false;
  return options;
}

void KernelGraphs::add(const std::string& name, const Graph& graph, const CheckOptions& options) {
  CheckOptions gpu = options;
  gpu.target = target_;
  cases_.push_back({name, graph, gpu, compile_and_interpret(graph, gpu)});
  kernels_.add(cases_.back().judged.compiled.program.prepare);
  kernels_.add(cases_.back().judged.compiled.program.final);
}

void KernelGraphs::add_exact(const std::string& name, const Graph& graph, const CheckOptions& options) {
  add(name, graph, options);
  cases_.back().exact = true;
  CheckOptions cpu = options;
  cpu.target = generic_cpu_target();
  cases_.back().on_cpu = compile_and_interpret(graph, cpu);
}

KernelRunner KernelGraphs::make_cpu_kernels() const {
  std::map<std::string, ir::Kernel> distinct;
  for (const Case& c : cases_)
    for (const Schedule* schedule : {&c.on_cpu.compiled.program.prepare, &c.on_cpu.compiled.program.final})
      for (const ir::Kernel& kernel : schedule->kernels) distinct.try_emplace(kernel.name, kernel);
  std::vector<ir::Kernel> kernels;
  for (const auto& [name, kernel] : distinct) kernels.push_back(kernel);
  return kernels.empty() ? KernelRunner() : cpu_(kernels);
}

void KernelGraphs::check() {
  kernels_.compile();
  cpu_kernels_ = make_cpu_kernels();
  for (const Case& c : cases_) {
    BOOST_TEST_CONTEXT(c.name << "\n" << to_text(c.graph)) {
      try {
        judge(c);
      } catch (const std::exception& error) {
        BOOST_ERROR(error.what());
      }
    }
  }
}

void KernelGraphs::judge(const Case& c) {
  StoreBytes store;
  const std::map<std::string, Array> outputs = run(c.judged, store, kernels_.runner());
  const auto& expected = c.judged.expected.outputs;
  for (const auto& [name, array] : expected) {
    if (const auto terms = expected.find(name + ".abs"); terms != expected.end())
      compare_sums(name, array, terms->second, outputs.at(name));
    else
      compare(c.graph, "output " + name, array, outputs.at(name), c.options);
  }
  for (const auto& [name, array] : c.judged.expected.writes)
    compare(c.graph, "state " + name, array, from_bytes(c.judged.types.at(name), store.at(name).data()), c.options);
  if (c.exact) compare_with_cpu(c, outputs, store);
}

void KernelGraphs::compare_with_cpu(const Case& c, const std::map<std::string, Array>& outputs,
                                    const StoreBytes& store) {
  StoreBytes on_cpu;
  for (const auto& [name, array] : run(c.on_cpu, on_cpu, cpu_kernels_))
    BOOST_TEST((to_bytes(array) == to_bytes(outputs.at(name))), "the CPU has other bits in output " << name);
  for (const auto& [name, array] : c.on_cpu.expected.writes)
    BOOST_TEST((store.at(name) == on_cpu.at(name)), "the CPU has other bits in state " << name);
}

}  // namespace kb::test
