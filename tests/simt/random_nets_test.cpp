// Random training steps, and evaluations, for GPUs: every launch is run by the KernelIR interpreter, or emulated, and
// compared with the graph interpreter. Long campaigns of 3000 and 300 networks from seed 1000 on are
//   build/bin/tests_simt --run_test=random_nets/interpreted -- --nets 3000 --first 1000
//   build/bin/tests_simt --run_test=random_nets/emulated -- --nets 300 --first 1000
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <deque>

#include "compiler/passes/parameter_space.h"
#include "compiler/pipeline/pipeline.h"
#include "optim/optimizer.h"
#include "optim/update_rules.h"
#include "tests/simt/emulated_kernels.h"
#include "tests/simt/launch_oracle.h"
#include "tests/support/random_net.h"
#include "tests/support/random_numbers.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::random_nets_test {

using namespace kb::test;

namespace {

constexpr uint32_t kAtOnce = 12;  // number of networks whose kernels are compiled together

struct DrawnNet {
  std::string name;
  Mode mode = Mode::training;
  CompileOptions options;
  Compiled compiled = {};
  Bindings bindings = {};
};

// Draws a GPU; few multiprocessors make blocks go through several tiles. One of 1 byte makes steps recompute.
Target drawn_target(RandomNumbers& random) {
  const int64_t arch = random.integer(0, 3);
  Target target = gpu_target(arch == 0 ? "sm_80" : arch == 3 ? "sm_100" : "sm_90");
  if (arch == 2) target.warpgroups = false;
  const std::vector<int64_t> processors = {1, 2, 5, 132};
  set_processors(target, random.pick(processors));
  target.products = random.chance(0.2) ? Products::none : Products::all;
  if (random.chance(0.2)) target.memory_bytes = 1;
  return target;
}

DrawnNet drawn_net(uint32_t seed) {
  RandomNumbers random(seed + 424242);
  DrawnNet net;
  CompileOptions& options = net.options;
  options.target = drawn_target(random);
  const std::vector<Precision> precisions = {Precision::bf16, Precision::bf16, Precision::bf16, Precision::bf16,
                                             Precision::f16,  Precision::f16,  Precision::f32,  Precision::f64};
  options.precision = random.pick(precisions);
  const Optimizer& rule = optimizers()[static_cast<size_t>(random.integer(0, std::ssize(optimizers()) - 1))];
  if (random.chance(0.2)) {
    net.mode = Mode::inference;
  } else {
    options.groups = {{.rule = rule.takes_matrices ? momentum_update : update_rule(rule)}};
    if (random.chance(0.2)) options.workers.virtual_workers = 2;
  }
  options.check_passes = options.workers.total() == 1 && random.chance(0.25);
  net.name = fmt::format("seed {}: {}, {} multiprocessors, warpgroups {}, products {}, precision {}, {} workers, {}",
                         seed, options.target.isa, options.target.processors, options.target.warpgroups,
                         options.target.products == Products::all, static_cast<int>(options.precision),
                         options.workers.virtual_workers, net.mode == Mode::training ? rule.name : "inference");
  return net;
}

// Makes values of the flat parameters such that activations stay of moderate size.
void scale_parameters(const ParameterSpace& space, Array& flat) {
  const std::vector<double> drawn = flat.data;
  std::ranges::fill(flat.data, 0.0);
  for (const Segment& segment : space.segments) {
    const double fan_in = static_cast<double>(segment.length) / static_cast<double>(segment.type.shape.at(0));
    for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
      const auto at = static_cast<size_t>(i);
      const double value = segment.role == Role::weight ? drawn[at] / std::sqrt(fan_in) : 0.5 * drawn[at];
      flat.data[at] = round_to(flat.type.dtype, value + (segment.role == Role::norm_scale ? 1 : 0));
    }
  }
}

class DrawnNets {
 public:
  explicit DrawnNets(bool emulates) : emulates_(emulates) {}

  void add(uint32_t seed) {
    DrawnNet net = drawn_net(seed);
    guarded(net.name, [&] {
      net.compiled = compile(random_net(seed, net.mode), net.options);
      for (const Schedule* schedule : net.compiled.program.all()) {
        net.bindings.merge(random_bindings(*schedule->graph, seed));
        if (emulates_) emulated_.add(*schedule);
      }
      if (const auto flat = net.bindings.find(kFlatParameters); flat != net.bindings.end())
        scale_parameters(net.compiled.space, flat->second);
      nets_.push_back(std::move(net));
    });
  }

  void check() {
    if (emulates_) emulated_.compile();
    for (const DrawnNet& net : nets_) guarded(net.name, [&] { run(net); });
  }
  int64_t values() const { return values_; }
  size_t kernels() const { return emulated_.count(); }
  int64_t products() const { return emulated_.count("_mma<"); }

 private:
  template <class F>
  static void guarded(const std::string& name, const F& work) {
    BOOST_TEST_CONTEXT(name) {
      try {
        work();
      } catch (const std::exception& error) {
        BOOST_ERROR(error.what());
      }
    }
  }

  void run(const DrawnNet& net) {
    StoreBytes store;
    for (const auto& [name, array] : net.bindings) store[name] = to_bytes(array);
    for (const Schedule* schedule : net.compiled.program.all()) {
      LaunchOracle oracle(*schedule, emulates_ ? emulated_.runner() : KernelRunner(ir::run));
      run_schedule(*schedule, net.bindings, store, oracle.runner());
      values_ += oracle.values();
    }
  }

  const bool emulates_;
  simt::EmulatedKernels emulated_;
  std::deque<DrawnNet> nets_;  // schedules stay where they are
  int64_t values_ = 0;
};

void check_nets(bool emulates, uint32_t count, uint32_t first) {
  count = asked_number("--nets", count);
  first = asked_number("--first", first);
  int64_t values = 0;
  for (uint32_t seed = first; seed < first + count; seed += kAtOnce) {
    DrawnNets nets(emulates);
    const uint32_t end = std::min(first + count, seed + kAtOnce);
    for (uint32_t one = seed; one < end; ++one) nets.add(one);
    nets.check();
    values += nets.values();
    BOOST_TEST_MESSAGE("seeds to " << end << ": " << values << " values; " << nets.kernels() << " emulated kernels, "
                                   << nets.products() << " multiply matrices");
  }
  BOOST_TEST(values > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_nets)

BOOST_AUTO_TEST_CASE(interpreted) { check_nets(false, 4, 12); }
BOOST_AUTO_TEST_CASE(emulated) { check_nets(true, 1, 6); }

// One launch in turn leaves one wrong element.
BOOST_AUTO_TEST_CASE(a_wrong_element_is_found) {
  DrawnNet net = drawn_net(8);
  CompileOptions plain;
  plain.target = net.options.target;
  plain.groups = {{.rule = momentum_update}};
  net.compiled = compile(random_net(8), plain);
  const Schedule& schedule = net.compiled.program.at(PartRole::final);
  const Bindings bindings = random_bindings(*schedule.graph, 1);
  for (int64_t wrong = 0; wrong < 4; ++wrong) {
    int64_t launches = 0;
    const auto run = [&](const ir::Kernel& kernel, auto arguments, auto tiles, std::span<const ir::Memory> buffers) {
      ir::run(kernel, arguments, tiles, buffers);
      if (launches++ != wrong) return;
      for (size_t i = 0; i < buffers.size(); ++i)
        if (kernel.buffers[i].written && !kernel.buffers[i].scratch)
          store_element(buffers[i].dtype, buffers[i].data, 0,
                        3 * load_element(buffers[i].dtype, buffers[i].data, 0) + 1);
    };
    LaunchOracle oracle(schedule, run);
    StoreBytes store;
    for (const auto& [name, array] : bindings) store[name] = to_bytes(array);
    BOOST_CHECK_EXCEPTION(run_schedule(schedule, bindings, store, oracle.runner()), InternalError, says("expected"));
    BOOST_TEST(launches == wrong + 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::random_nets_test
