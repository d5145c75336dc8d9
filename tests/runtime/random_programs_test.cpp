// Runs random programs on the CPU: of all dtypes, with special values, with gradients, on one and two processes. 3,000
// of them are run, and counted, by
//   build/bin/tests_runtime --run_test=random_programs --log_level=message -- --programs 3000
#include <boost/test/unit_test.hpp>
#include <thread>

#include "graph/functions.h"
#include "runtime/session.h"
#include "tests/runtime/session_check.h"
#include "tests/support/in_process.h"
#include "tests/support/random_graph.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::random_programs_test {

using namespace kb::test;

namespace {

constexpr uint32_t kFirst = 100000;  // first seed; backend_test.cpp has others
constexpr uint32_t kAtOnce = 200;    // number of programs whose kernels are compiled together

uint32_t programs() { return asked_number("--programs", 20); }

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16};
// Tolerances of kDTypes: what a few roundings of the dtype come to, relative to the largest element.
constexpr double kTolerances[] = {2e-5, 1e-10, 0.15, 0.02};

CheckedGraph forward(uint32_t seed) {
  const size_t kind = seed % 4;
  RandomGraphOptions options;
  options.dtype = kDTypes[kind];
  options.whole = true;
  options.blocks = seed % 3 == 0;
  options.layers = seed % 5 == 0;
  CheckedGraph one{"seed " + std::to_string(seed), random_graph(seed, options), {}};
  one.options.tolerance = kTolerances[kind];
  one.options.bindings = special_bindings(one.graph, seed);
  return one;
}

CheckedGraph training(uint32_t seed) {
  RandomGraphOptions options;
  options.smooth = options.whole = true;
  options.dtype = seed % 4 == 0 ? DType::f64 : DType::f32;
  options.blocks = seed % 3 == 0;
  options.layers = seed % 5 == 1;
  CheckedGraph one{"training seed " + std::to_string(seed), random_graph(seed, options), {}};
  one.options.optimizer = plain_sgd();
  one.options.tolerance = seed % 4 == 0 ? 1e-9 : 1e-4;
  if (seed % 2 == 0) one.options.bindings = special_bindings(one.graph, seed);
  return one;
}

// The result of a run: the hash of its state and the loss of each step.
struct Left {
  std::string state;
  std::vector<double> losses;
  bool operator==(const Left&) const = default;
};

Left run_process(const Graph& graph, const CompileOptions& compile_options, Communicator& communicator) {
  const auto backend =
      make_cpu_backend({.threads = 1, .shards = 1, .cache_directory = "", .communicator = &communicator});
  CompileOptions options = compile_options;
  options.target = backend->target();
  StateStore store(*backend);
  Session session(*backend, store, compile(graph, options));
  store.initialise(7);
  Left left;
  for (int step = 0; step < 2; ++step) {
    for (int64_t v = 0; v < session.virtual_workers(); ++v) {
      const int64_t worker = communicator.rank() * session.virtual_workers() + v;
      for (const auto& [name, array] : random_bindings(graph, static_cast<uint32_t>(10 * step + worker)))
        if (session.has_input(name) && array.type.rank() > 0) set_bytes(session.input(name), array);
      for (const auto& [name, array] : random_bindings(graph, 5))  // scalars are the same on all workers
        if (session.has_input(name) && array.type.rank() == 0) session.set_scalar(name, array.data[0]);
      session.set_scalar("learning_rate", 0.01);
      session.set_scalar("seed", 3);
      session.set_scalar("step", step);
      session.set_scalar("worker", static_cast<double>(worker));
      session.work(v);
    }
    left.losses.push_back(session.read_scalar("loss"));
  }
  left.state = store.state_sha256();
  return left;
}

std::vector<Left> run_split(const Graph& graph, int processes, int virtual_workers) {
  CompileOptions options;
  options.workers = {processes, virtual_workers};
  options.groups = {{.rule = plain_sgd()}};
  const auto network = make_in_process_network(processes);
  std::vector<Left> left(static_cast<size_t>(processes));
  std::vector<std::exception_ptr> failures(left.size());
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < processes; ++rank)
      ranks.emplace_back([&, rank] {
        try {
          const auto communicator = make_in_process_communicator(network, rank);
          left[static_cast<size_t>(rank)] = run_process(graph, options, *communicator);
        } catch (...) {
          failures[static_cast<size_t>(rank)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return left;
}

// Checks `count` programs that `make` gives, kAtOnce at a time.
template <class F>
void check(uint32_t count, F&& make) {
  int64_t values = 0;
  for (uint32_t first = 0; first < count; first += kAtOnce) {
    std::vector<CheckedGraph> graphs;
    for (uint32_t i = first; i < std::min(count, first + kAtOnce); ++i) graphs.push_back(make(kFirst + i));
    values += check_graphs(graphs);
  }
  BOOST_TEST_MESSAGE(count << " programs, " << values << " values");
  BOOST_TEST(values > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_programs)

BOOST_AUTO_TEST_CASE(of_all_dtypes_equal_their_interpretation) { check(programs() * 3 / 5, forward); }

BOOST_AUTO_TEST_CASE(with_gradients_equal_their_interpretation) { check(programs() / 5, training); }

// Most tests compile kernels at optimisation level 1, and users at level 2.
BOOST_AUTO_TEST_CASE(kernels_of_every_level_end_in_the_same_bits) {
  for (uint32_t seed = kFirst; seed < kFirst + programs() / 10; ++seed) {
    RandomGraphOptions options{.max_steps = 20, .smooth = true, .whole = true, .split = true};
    options.dtype = kDTypes[seed % 4];
    const Graph graph = random_graph(seed, options);
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::vector<Left> left;
      for (const char* level : {"0", "1", "2"}) {
        const ScopedVariable at("KB_KERNEL_LEVEL", level);
        left.push_back(run_split(graph, 1, 1).front());
      }
      BOOST_TEST((left[0] == left[2]));
      BOOST_TEST((left[1] == left[2]));
    }
  }
}

// The gradient of a single parameter that fills its blocks is the flat gradient itself.
BOOST_AUTO_TEST_CASE(a_model_of_one_parameter_ends_in_the_same_bits) {
  Graph graph("one_parameter");
  const Tensor x = input(graph, "x", DType::f32, {3, 16});
  const Tensor w = parameter(graph, "w", Role::weight, {DType::f32, {16}, ""}, {InitKind::normal, 0, 1});
  graph.outputs.push_back({"loss", mean(tanh(x * w)).value(), Merge::sum});
  const Left alone = run_split(graph, 1, 4).front();
  for (const Left& rank : run_split(graph, 2, 2)) BOOST_TEST((rank == alone));
  for (const Left& rank : run_split(graph, 4, 1)) BOOST_TEST((rank == alone));
}

BOOST_AUTO_TEST_CASE(two_processes_end_in_the_bits_of_one) {
  const uint32_t count = programs() / 5;
  for (uint32_t seed = kFirst; seed < kFirst + count; ++seed) {
    const Graph graph = random_graph(seed, {.max_steps = 10, .smooth = true, .whole = true, .split = true});
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_CHECKPOINT("seed " << seed);
      try {
        const Left alone = run_split(graph, 1, 2).front();
        for (const Left& rank : run_split(graph, 2, 1)) {
          BOOST_TEST(rank.state == alone.state);
          BOOST_TEST((rank == alone));
        }
      } catch (const std::exception& error) {
        BOOST_ERROR(error.what());
      }
    }
  }
  BOOST_TEST_MESSAGE(count << " programs on 1 and 2 processes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::random_programs_test
