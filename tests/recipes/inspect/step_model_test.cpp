// The model of a step on a GPU against sums written out by hand.
#include "recipes/inspect/step_model.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/pipeline/pipeline.h"
#include "graph/functions.h"
#include "recipes/config/flags.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::step_model_test {
namespace {

constexpr int64_t kRows = 4096, kColumns = 8192;
const GpuRates kRates{"test", 1e12, 1e14};

// Returns the program of y = x * 2 + 1 over 32 Mi numbers x, and of the sum of exp(x).
Program program() {
  Graph graph("model", Mode::inference);
  const Tensor x = input(graph, "x", DType::f32, {kRows, kColumns});
  const Tensor y = x * 2 + 1;
  const auto output = [&](const char* name, Tensor value) {
    graph.outputs.push_back({name, value.value(), Merge::first});
  };
  output("y", y);
  output("sum", sum(exp(x), {0, 1}));
  CompileOptions options;
  options.target = gpu_target("sm_90");
  return compile(std::move(graph), options).program;
}

// Returns the work of one thread in one round of every kernel's main loop: it reads 16 bytes, writes 16 in a pointwise
// kernel, and does `alu` operations.
KernelWork work_of(const Program& program, int64_t alu) {
  KernelWork work;
  for (const ir::Kernel& kernel : program.at(PartRole::final).kernels)
    work[kernel.name] = {alu, alu, 0, 16, kernel.kind == "pointwise" ? 16 : 0};
  return work;
}

BOOST_AUTO_TEST_SUITE(step_model)

BOOST_AUTO_TEST_CASE(a_launch_takes_its_bytes_or_its_instructions) {
  const Program compiled = program();
  const Target target = gpu_target("sm_90");
  const std::vector<const Schedule*> programs{&compiled.at(PartRole::final)};
  const StepModel idle = model_step(programs, {}, target, kRates);
  const StepModel busy = model_step(programs, work_of(compiled, 1024), target, kRates);
  BOOST_REQUIRE(idle.launches.size() == compiled.at(PartRole::final).steps.size());
  double sum = 0;
  int seen = 0;
  for (size_t s = 0; s < idle.launches.size(); ++s) {
    const Step& step = compiled.at(PartRole::final).steps[s];
    const LaunchModel &bytes = idle.launches[s], &code = busy.launches[s];
    sum += bytes.total_ms;
    if (!step.launch() || step.bytes < kRows * kColumns) continue;
    ++seen;
    BOOST_TEST(bytes.dram_ms == static_cast<double>(step.bytes) / 0.98e12 * 1e3, boost::test_tools::tolerance(1e-12));
    // A launch takes 1e-3 ms for its start and end, and a reduction 11e-3 ms more for its last block.
    const double fixed = step.cls == FusionClass::pointwise ? 1e-3 : 12e-3;
    BOOST_TEST(bytes.total_ms == bytes.dram_ms + fixed, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(code.alu == 256, boost::test_tools::tolerance(1e-12));  // 1024 operations for 4 elements
    // A multiprocessor does 64 operations a cycle, and so a round of 1024 in 16 cycles; there are 132 of them at 1.98
    // GHz, which work in 75 % of the cycles.
    const double rounds = kRows * kColumns * 4 / 16;
    BOOST_TEST(code.code_ms == rounds * 16 / 132 / (0.75 * 1.98e9) * 1e3, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(code.total_ms == code.code_ms + fixed, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(code.is_judged);
  }
  BOOST_TEST(seen >= 2);
  BOOST_TEST(sum == idle.milliseconds(), boost::test_tools::tolerance(1e-12));
}

// A product of n x n numbers has 2 n^3 operations, which go at 80 % of a matmul's rate, and 12 n^2 bytes, at 98 % of a
// copy's. A call takes 6 us more.
BOOST_AUTO_TEST_CASE(a_library_call_takes_its_bytes_or_its_operations) {
  CompileOptions options;
  options.target = gpu_target("sm_90");
  const auto model_of = [&](int64_t n, const GpuRates& rates) {
    Graph graph("product", Mode::inference);
    const Tensor x = input(graph, "x", DType::f32, {n, n}), w = input(graph, "w", DType::f32, {n, n});
    graph.outputs.push_back({"y", matmul(x, w).value(), Merge::first});
    const Program compiled = compile(std::move(graph), options).program;
    return model_step({&compiled.at(PartRole::final)}, {}, options.target, rates);
  };
  const StepModel wide = model_of(2048, kRates), narrow = model_of(32, kRates);
  const auto close = boost::test_tools::tolerance(1e-12);
  BOOST_REQUIRE(wide.launches.size() == 1u);
  BOOST_TEST(wide.launches[0].code_ms == 1e3 * 2 * std::pow(2048, 3) / 0.8e14, close);
  BOOST_TEST(wide.library_ms == wide.launches[0].code_ms + 6e-3, close);
  BOOST_TEST(wide.library_bytes == 12 * 2048 * 2048);
  BOOST_TEST(narrow.library_ms == 1e3 * 12 * 32 * 32 / 0.98e12 + 6e-3, close);
  BOOST_TEST(wide.generated_ms + static_cast<double>(wide.generated_bytes) == 0);
  const StepModel unknown = model_of(2048, {"test", 1e12, 0});  // without the rate of a matmul
  BOOST_TEST(unknown.library_ms == 1e3 * 12 * 2048 * 2048 / 0.98e12 + 6e-3, close);
}

BOOST_AUTO_TEST_CASE(the_table_has_a_line_a_launch_and_the_measured_time_beside_it) {
  const Program compiled = program();
  const std::vector<const Schedule*> programs{&compiled.at(PartRole::final)};
  const StepModel model = model_step(programs, work_of(compiled, 8), gpu_target("sm_90"), kRates);
  const std::string alone = to_text(model, programs, kRates);
  BOOST_TEST(test::contains(alone, "predicted for test: 1 TB/s copied, 100 TFLOP/s"));
  BOOST_TEST(!test::contains(alone, "measured"), alone);
  const std::vector<double> twice = [&] {
    std::vector<double> times;
    for (const LaunchModel& launch : model.launches) times.push_back(2 * launch.total_ms);
    return times;
  }();
  const std::string beside = to_text(model, programs, kRates, twice, 1e12);
  BOOST_TEST(test::contains(beside, " 2.00x"));
  BOOST_TEST(test::contains(beside, "  multiply + add"));
  // Launches that take twice as long as predicted are slower than a copy at 1 TB/s. They are all faster than a copy at
  // 0.1 TB/s, and the table says why.
  BOOST_TEST(!test::contains(beside, "in the cache"), beside);
  const std::string above = to_text(model, programs, kRates, twice, 1e11);
  BOOST_TEST(test::contains(above, "above 100 % of a copy: a part of the bytes was in the cache"));
}

BOOST_AUTO_TEST_CASE(rates_are_given_by_name_or_by_numbers) {
  BOOST_TEST(parse_gpu_rates("H200").bytes == 4.3e12);
  BOOST_TEST(parse_gpu_rates("h100").multiply == 798e12);
  BOOST_TEST(parse_gpu_rates("2TB/s,300TFLOP/s").bytes == 2e12);
  BOOST_CHECK_EXCEPTION(parse_gpu_rates("h300"), UsageError, test::says("--rates: expected h100, h200, or BYTES"));
  BOOST_TEST(known_gpu("NVIDIA H100 80GB HBM3")->bytes == 3.0e12);
  BOOST_TEST(!known_gpu("NVIDIA GeForce RTX 4090").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::step_model_test
