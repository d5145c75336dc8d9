#include "tests/simt/kernel_graphs.h"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/text.h"

namespace kb::test {
namespace {

// The error of a sum in f32 may be this share of the sum of its terms' absolute values.
constexpr double kSumTolerance = 1e-5;

std::map<std::string, Array> run(const Judged& judged, StoreBytes& store, const KernelRunner& kernels) {
  for (const auto& [name, array] : judged.bindings) store[name] = to_bytes(array);
  run_schedule(judged.compiled.program.at(PartRole::prepare), judged.bindings, store, kernels);
  return run_schedule(judged.compiled.program.at(PartRole::final), judged.bindings, store, kernels);
}

void compare_sums(const std::string& name, const Array& expected, const Array& terms, const Array& got) {
  for (size_t i = 0; i < expected.data.size(); ++i)
    if (!(std::abs(expected.data[i] - got.data[i]) <= kSumTolerance * terms.data[i]))
      BOOST_FAIL("output " << name << ", element " << i << ": expected " << expected.data[i] << ", got " << got.data[i]
                           << ", sum of absolute values " << terms.data[i]);
}

// The results of one run of a case.
struct Ran {
  StoreBytes store;
  std::map<std::string, Array> outputs;
};

void compare_with_interpreter(const Graph& graph, const Judged& judged, const Ran& ran, const CheckOptions& options) {
  const auto& expected = judged.expected.outputs;
  for (const auto& [name, array] : expected) {
    if (const auto terms = expected.find(name + ".abs"); terms != expected.end())
      compare_sums(name, array, terms->second, ran.outputs.at(name));
    else
      compare(graph, "output " + name, array, ran.outputs.at(name), options);
  }
  for (const auto& [name, array] : judged.expected.writes)
    compare(graph, "state " + name, array, from_bytes(judged.types.at(name), ran.store.at(name).data()), options);
}

// Returns whether two arrays have equal bits. Any two NaNs are equal: a GPU's conversion to 16 bits drops sign and
// payload.
bool same_values(const Array& a, const Array& b) {
  return std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end(), [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

void compare_bits(const Judged& on_cpu, const Ran& cpu, const Ran& gpu) {
  for (const auto& [name, array] : cpu.outputs)
    BOOST_TEST(same_values(array, gpu.outputs.at(name)), "the CPU has other bits in output " << name);
  for (const auto& [name, array] : on_cpu.expected.writes) {
    const auto read = [&, type = on_cpu.types.at(name)](const Ran& ran) {
      return from_bytes(type, ran.store.at(name).data());
    };
    BOOST_TEST(same_values(read(cpu), read(gpu)), "the CPU has other bits in state " << name);
  }
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
  kernels_.add(cases_.back().judged.compiled.program.at(PartRole::prepare));
  kernels_.add(cases_.back().judged.compiled.program.at(PartRole::final));
}

void KernelGraphs::add_exact(const std::string& name, const Graph& graph, const CheckOptions& options) {
  add_beside_cpu(name, graph, options);
  cases_.back().exact = true;
}

void KernelGraphs::add_beside_cpu(const std::string& name, const Graph& graph, const CheckOptions& options) {
  add(name, graph, options);
  CheckOptions cpu = options;
  cpu.target = generic_cpu_target();
  cases_.back().on_cpu = compile_and_interpret(graph, cpu);
}

void KernelGraphs::check() {
  kernels_.compile();
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
  Ran gpu, cpu;
  gpu.outputs = run(c.judged, gpu.store, kernels_.runner());
  compare_with_interpreter(c.graph, c.judged, gpu, c.options);
  if (!c.on_cpu) return;
  cpu.outputs = run(*c.on_cpu, cpu.store, ir::run);
  if (c.exact)
    compare_bits(*c.on_cpu, cpu, gpu);
  else
    BOOST_TEST_CONTEXT("on the CPU") { compare_with_interpreter(c.graph, *c.on_cpu, cpu, c.options); }
}

}  // namespace kb::test
