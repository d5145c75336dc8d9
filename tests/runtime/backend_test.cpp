// Runs graphs through the whole compiler and on the CPU backend, and compares the results with the graph interpreter's.
#include <sched.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <thread>

#include "runtime/session.h"
#include "tests/interpreters/schedule_interpreter.h"
#include "tests/runtime/session_check.h"
#include "tests/support/compile_check.h"
#include "tests/support/random_graph.h"
#include "tests/support/support.h"

namespace kb::backend_test {

using namespace kb::test;

namespace {

// Fewer graphs are run with sanitizers, because the host compiler takes many times as long for sanitized kernels.
#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t kRandomGraphs = 12;
#else
constexpr uint32_t kRandomGraphs = 24;
#endif

Compiled compile_training(Backend& backend, const Graph& graph, Precision precision = Precision::f32) {
  CompileOptions options;
  options.target = backend.target();
  options.groups = {{.rule = momentum_sgd()}};
  options.precision = precision;
  return compile(graph, options);
}

void fill_inputs(Session& session, const Graph& graph, uint32_t seed) {
  for (const auto& [name, array] : random_bindings(graph, seed))
    if (session.has_input(name) && array.type.rank() > 0) {
      Array values = array;
      values.type.dtype = session.input_type(name).dtype;
      set_bytes(session.input(name), values);
    }
  session.set_scalar("learning_rate", 0.01);
  session.set_scalar("momentum", 0.9);
  session.set_scalar("weight_decay", 1e-4);
}

struct Trained {
  std::vector<double> losses;
  std::string sha256;
};

Trained train(int threads, uint32_t seed, int steps, Precision precision = Precision::f32) {
  std::unique_ptr<Backend> backend = cpu(threads);
  Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_training(*backend, graph, precision));
  store.initialise(seed);
  Trained result;
  for (int i = 0; i < steps; ++i) {
    fill_inputs(session, graph, static_cast<uint32_t>(i));
    session.step();
    result.losses.push_back(session.read_scalar("loss"));
  }
  result.sha256 = store.state_sha256();
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend)

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  CheckOptions options;
  options.optimizer = momentum_sgd();
  options.check_passes = false;
  check_graph(*cpu(), small_convnet(4), options);
}

BOOST_AUTO_TEST_CASE(a_training_step_in_f64_equals_its_interpretation) {
  CheckOptions options;
  options.optimizer = plain_sgd();
  options.check_passes = false;
  options.precision = Precision::f64;
  check_graph(*cpu(), small_convnet(3), options);
}

BOOST_AUTO_TEST_CASE(random_graphs_equal_their_interpretation) {
  std::vector<CheckedGraph> graphs;
  for (uint32_t seed = 0; seed < kRandomGraphs; ++seed)
    graphs.push_back({"seed " + std::to_string(seed), random_graph(seed), {}});
  check_graphs(graphs);
}

BOOST_AUTO_TEST_CASE(random_training_graphs_equal_their_interpretation) {
  RandomGraphOptions smooth;
  smooth.smooth = true;
  CheckOptions options;
  options.optimizer = plain_sgd();
  std::vector<CheckedGraph> graphs;
  for (uint32_t seed = 0; seed < kRandomGraphs / 4; ++seed)
    graphs.push_back({"seed " + std::to_string(seed), random_graph(seed, smooth), options});
  check_graphs(graphs);
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_threads) {
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    Trained one = train(1, 3, 4, precision);
    for (int threads : {2, 3, 64}) {
      Trained other = train(threads, 3, 4, precision);
      BOOST_TEST(other.losses == one.losses);
      BOOST_TEST(other.sha256 == one.sha256);
    }
  }
}

BOOST_AUTO_TEST_CASE(state_follows_the_seed) {
  Trained a = train(2, 1, 3), again = train(2, 1, 3), b = train(2, 2, 3);
  BOOST_TEST(a.sha256 == again.sha256);
  BOOST_TEST(a.sha256 != b.sha256);
  for (double loss : a.losses) BOOST_TEST(std::isfinite(loss));
}

BOOST_AUTO_TEST_CASE(bf16_follows_f32) {
  Trained wide = train(2, 1, 3), low = train(2, 1, 3, Precision::bf16);
  for (size_t i = 0; i < wide.losses.size(); ++i) {
    BOOST_TEST(std::abs(low.losses[i] - wide.losses[i]) <= 0.05 * (1 + std::abs(wide.losses[i])));
    BOOST_TEST(low.losses[i] != wide.losses[i]);
  }
}

// Evaluation reads what training wrote, and writes nothing.
BOOST_AUTO_TEST_CASE(training_and_inference_share_parameters) {
  std::unique_ptr<Backend> backend = cpu();
  Graph training = small_convnet(4), inference = small_convnet(5, Mode::inference);
  StateStore store(*backend);
  Session trainer(*backend, store, compile_training(*backend, training));
  CompileOptions options;
  options.target = backend->target();
  options.space = &store.space();
  Session evaluator(*backend, store, compile(inference, options));
  store.initialise(1);
  fill_inputs(evaluator, inference, 9);
  evaluator.step();
  double before = evaluator.read_scalar("loss");
  for (int i = 0; i < 3; ++i) {
    fill_inputs(trainer, training, static_cast<uint32_t>(i));
    trainer.step();
  }
  std::string hash = store.state_sha256();
  evaluator.step();
  double after = evaluator.read_scalar("loss");
  BOOST_TEST(after != before);
  evaluator.step();
  BOOST_TEST(evaluator.read_scalar("loss") == after);
  BOOST_TEST(store.state_sha256() == hash);
}

// A step taken from a loaded state is the step that would have followed.
BOOST_AUTO_TEST_CASE(a_loaded_state_goes_on_to_the_bit) {
  std::unique_ptr<Backend> backend = cpu();
  Graph graph = small_convnet(4);
  auto run = [&](const std::vector<NamedTensor>* from, int first, int last, std::vector<NamedTensor>& to) {
    StateStore store(*backend);
    Session session(*backend, store, compile_training(*backend, graph));
    store.initialise(1);
    if (from) BOOST_TEST(store.load(*from).empty());
    for (int i = first; i < last; ++i) {
      fill_inputs(session, graph, static_cast<uint32_t>(i));
      session.step();
    }
    to = store.canonical();
    return store.state_sha256();
  };
  std::vector<NamedTensor> half, end;
  std::string whole = run(nullptr, 0, 4, end);
  run(nullptr, 0, 2, half);
  BOOST_TEST(run(&half, 2, 4, end) == whole);
}

BOOST_AUTO_TEST_CASE(a_load_is_reported) {
  std::unique_ptr<Backend> backend = cpu();
  Graph graph = small_convnet(4);
  Compiled compiled = compile_training(*backend, graph);
  size_t steps =
      compiled.program.at(PartRole::prepare).steps.size() + compiled.program.at(PartRole::final).steps.size();
  auto kernels = static_cast<int64_t>(compiled.program.at(PartRole::final).kernels.size());
  StateStore store(*backend);
  Session session(*backend, store, std::move(compiled));
  const LoadReport& report = session.load_report();
  BOOST_TEST(report.cache_hits + report.compiled >= kernels);
  BOOST_TEST(report.jit_milliseconds > 0);
  BOOST_TEST(report.library_milliseconds > 0);
  store.initialise(1);
  fill_inputs(session, graph, 1);
  BOOST_TEST(session.profile().steps.size() == steps);
  BOOST_TEST(session.arena_bytes() >= session.compiled().program.at(PartRole::final).arena_bytes);
}

// A launcher may bind a process to a part of the machine. The process has no more threads than that part has
// processors, but as many shards as on the whole machine, because bits depend on shards.
BOOST_AUTO_TEST_CASE(threads_of_a_bound_process) {
  std::string bound;
  std::thread([&] {
    cpu_set_t all, one;
    BOOST_REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    bound = make_cpu_backend({.cache_directory = ""})->description();
  }).join();
  const std::string free = make_cpu_backend({.cache_directory = ""})->description();
  const auto shards = [](const std::string& text) { return text.substr(text.find(" shard") - 1); };
  BOOST_TEST(contains(bound, ", 1 thread, "));
  BOOST_TEST(shards(bound) == shards(free));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::backend_test
