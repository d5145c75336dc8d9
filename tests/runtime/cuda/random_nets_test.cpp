// Random training steps on the fake GPU: work that runs as late as it may, work that runs at once, and steps that wait
// after every part end in the same bits, in f32 near those of a CPU. Long campaigns are
//   build/bin/tests_cuda --run_test=random_nets/steps_end_in_the_same_bits -- --nets 200 --first 1000
//   build/bin/tests_cuda --run_test=random_nets/kernels_compile_without_spills -- --nets 200 --first 1000
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "recipes/inspect/device_kernels.h"
#include "runtime/options.h"
#include "runtime/session.h"
#include "tests/gpu/checks/net_session.h"
#include "tests/interpreters/schedule_interpreter.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support/random_net.h"
#include "tests/support/random_numbers.h"
#include "tests/support/support.h"

namespace kb::random_nets_test {

using namespace kb::test;

namespace {

constexpr int64_t kSteps = 4;

struct FakeRun {
  std::string name;
  FakeOptions device;
  Products products = Products::picked;
  CompileOptions options;
};

FakeRun drawn_run(uint32_t seed) {
  struct Gpu {
    int capability, storage;  // kilobytes of a block
  };
  const std::vector<Gpu> gpus = {{80, 163}, {86, 99}, {90, 227}, {90, 227}, {100, 227}, {120, 99}};
  const std::vector<int> processors = {1, 2, 5, 132};
  const std::vector<Precision> precisions = {Precision::f32, Precision::f32, Precision::bf16, Precision::bf16,
                                             Precision::f16};
  const std::vector<int64_t> workers = {1, 1, 2, 3, 4};
  const std::vector<Products> products = {Products::none, Products::picked, Products::all};
  RandomNumbers random(seed + 717171);
  FakeRun run;
  const Gpu gpu = random.pick(gpus);
  run.device.capability = gpu.capability;
  run.device.block_storage = gpu.storage << 10;
  run.device.processors = random.pick(processors);
  run.options.precision = random.pick(precisions);
  run.options.workers.virtual_workers = random.pick(workers);
  run.options.groups = {{.rule = momentum_sgd()}};
  run.products = random.pick(products);
  run.name = fmt::format("seed {}: sm_{}, {} multiprocessors, products {}, precision {}, {} workers", seed,
                         gpu.capability, run.device.processors, static_cast<int>(run.products),
                         static_cast<int>(run.options.precision), run.options.workers.virtual_workers);
  return run;
}

void fill(Session& session, const Graph& graph, int64_t step, int64_t worker) {
  const std::pair<const char*, double> scalars[] = {{"learning_rate", 0.01},    {"momentum", 0.9},
                                                    {"weight_decay", 1e-4},     {"seed", 3},
                                                    {"loss_scale_interval", 2}, {"step", static_cast<double>(step)}};
  for (const auto& [name, value] : scalars) session.set_scalar(name, value);
  session.set_scalar("worker", static_cast<double>(worker));
  for (auto& [name, array] : random_bindings(graph, static_cast<uint32_t>(10 * step + worker))) {
    if (!session.has_input(name) || array.type.rank() == 0) continue;
    array.type = session.input_type(name);
    std::ranges::copy(to_bytes(array), session.input(name));
  }
}

Trained trained(Backend& backend, const Graph& graph, const FakeRun& run) {
  CompileOptions options = run.options;
  options.target = backend.target();
  if (options.target.processor == Processor::gpu) options.target.products = run.products;
  StateStore store(backend);
  Session session(backend, store, compile(graph, options));
  store.initialise(7);
  Trained result;
  for (int64_t step = 0; step < kSteps; ++step) {
    for (int64_t worker = 0; worker < session.virtual_workers(); ++worker) {
      fill(session, graph, step, worker);
      session.work(worker);
    }
    if (step % 2 == 1) result.losses.push_back(session.read_scalar("loss"));
  }
  result.state = store.canonical();
  return result;
}

void check_steps(const FakeRun& run, const Graph& graph) {
  Backend::AlgorithmChoices picks;
  const auto on_fake = [&](bool lazy, bool waiting) {
    FakeOptions device = run.device;
    device.lazy = lazy;
    FakeTestGpu gpu(device);
    const std::unique_ptr<Backend> backend = gpu.backend({.sync_steps = waiting, .cache_directory = ""});
    backend->use_algorithm_choices(picks);
    const Trained result = trained(*backend, graph, run);
    picks = backend->algorithm_choices();
    return result;
  };
  const Trained late = on_fake(true, false);
  check_equal(late, on_fake(false, false));
  check_equal(late, on_fake(true, true));
  if (run.options.precision == Precision::f32) check_close(trained(*small_cpu(), graph, run), late, 1e-2);
}

template <class Check>
void check_nets(uint32_t count, const Check& check) {
  const uint32_t first = asked_number("--first", 3);
  count = asked_number("--nets", count);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const FakeRun run = drawn_run(seed);
    BOOST_TEST_CONTEXT(run.name) {
      try {
        check(run, random_net(seed));
      } catch (const std::exception& error) {
        BOOST_ERROR(error.what());
      }
    }
  }
}

void check_cubins(const FakeRun& run, const Graph& graph) {
  const int capability = run.device.capability;
  CompileOptions options = run.options;
  options.target = gpu_target(capability >= 100 ? "sm_100" : capability >= 90 ? "sm_90" : "sm_80");
  if (run.device.block_storage < 100 << 10) options.target.product_stages = 2;
  options.target.products = Products::all;
  const Compiled compiled = compile(graph, options);
  const DeviceKernels kernels = compile_device_kernels(compiled.program, fmt::format("sm_{}", capability),
                                                       RuntimeOptions::from_environment().cache_dir.string(), 1);
  if (kernels.compiler.empty()) BOOST_TEST_MESSAGE("skipped: " << kernels.missing);
  BOOST_TEST(kernels.spill_bytes() == 0, to_text(kernels));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_nets)

BOOST_AUTO_TEST_CASE(steps_end_in_the_same_bits) { check_nets(1, check_steps); }

// The suite compiles none: device_kernels compiles recipes.
BOOST_AUTO_TEST_CASE(kernels_compile_without_spills) { check_nets(0, check_cubins); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::random_nets_test
