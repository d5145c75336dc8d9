// Sessions on the CUDA backend, on a fake GPU with emulated kernels, beside sessions on the CPU.
#include "runtime/cuda/backend.h"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "graph/functions.h"
#include "runtime/session.h"
#include "tests/compile_check.h"
#include "tests/runtime/cuda/fake_backend.h"

using namespace kb;
using namespace kb::test;

namespace {

auto says(std::string part) {
  return [part](const std::exception& error) {
    BOOST_TEST_MESSAGE(error.what());
    return std::string(error.what()).find(part) != std::string::npos;
  };
}

Compiled compile_for(Backend& backend, const Graph& graph, const UpdateRule& rule) {
  CompileOptions options;
  options.target = backend.target();
  options.optimizer = rule;
  return compile(graph, options);
}

void fill_inputs(Session& session, const Graph& graph, uint32_t seed) {
  for (const auto& [name, array] : random_bindings(graph, seed)) {
    if (!session.has_input(name) || array.type.rank() == 0) continue;
    std::byte* to = session.input(name);
    for (size_t i = 0; i < array.data.size(); ++i)
      store_element(session.input_type(name).dtype, to, static_cast<int64_t>(i), array.data[i]);
  }
  session.set_scalar("learning_rate", 0.01 * (1 + seed));
  session.set_scalar("momentum", 0.9);
  session.set_scalar("weight_decay", 1e-4);
}

struct Trained {
  std::vector<double> losses;
  std::vector<NamedTensor> state;
};

// Reads each loss as late as the backend likes.
Trained train(Backend& backend, int steps, const std::function<void(Session&, StateStore&)>& before = {}) {
  const Graph graph = small_convnet(6);
  StateStore store(backend);
  Session session(backend, store, compile_for(backend, graph, momentum_sgd()));
  store.initialise(3);
  if (before) before(session, store);
  Trained result;
  const auto read = [&](int age) { result.losses.push_back(session.read_scalar("loss", age)); };
  for (int i = 0; i < steps; ++i) {
    fill_inputs(session, graph, static_cast<uint32_t>(i));
    session.step();
    if (i >= session.lag()) read(session.lag());
  }
  for (int age = session.lag() - 1; age >= 0; --age) read(age);
  result.state = store.canonical();
  return result;
}

std::unique_ptr<Backend> cpu() { return make_cpu_backend({2, 2, ""}); }

// `bound`: largest difference, of an element relative to the largest of its tensor.
void check_close(const Trained& expected, const Trained& got, double bound) {
  BOOST_REQUIRE(expected.losses.size() == got.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i) BOOST_TEST(std::abs(expected.losses[i] - got.losses[i]) <= bound);
  BOOST_REQUIRE(expected.state.size() == got.state.size());
  for (size_t t = 0; t < got.state.size(); ++t) {
    const NamedTensor &a = expected.state[t], &b = got.state[t];
    BOOST_REQUIRE(a.name == b.name);
    BOOST_REQUIRE((a.type == b.type));
    double largest = 1e-3, difference = 0;
    for (int64_t i = 0; i < a.type.elements(); ++i) {
      const double x = load_element(a.type.dtype, a.data.data(), i), y = load_element(b.type.dtype, b.data.data(), i);
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - y));
    }
    BOOST_TEST(difference <= bound * largest, a.name << " differs by " << difference << " of " << largest);
  }
}

std::vector<std::string> log_of_step(FakeGpu& gpu, Session& session, const Graph& graph, uint32_t seed) {
  gpu.log.clear();
  fill_inputs(session, graph, seed);
  session.step();
  return std::move(gpu.log);
}

int64_t count(const std::vector<std::string>& log, const std::string& what) {
  return std::count_if(log.begin(), log.end(), [&](const std::string& line) { return line.starts_with(what); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_backend)

BOOST_AUTO_TEST_CASE(training_equals_the_cpus) {
  const Trained expected = train(*cpu(), 5);
  for (bool lazy : {true, false}) {
    FakeGpu gpu({.lazy = lazy});
    std::unique_ptr<Backend> backend = make_fake_backend(gpu);
    check_close(expected, train(*backend, 5), 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(two_runs_give_the_same_bits) {
  std::string sha256[2];
  for (std::string& one : sha256) {
    FakeGpu gpu;
    std::unique_ptr<Backend> backend = make_fake_backend(gpu);
    const Trained trained = train(*backend, 4);
    one = state_sha256(views_of(trained.state));
  }
  BOOST_TEST(sha256[0] == sha256[1]);
}

// A state goes from one backend to the other and back as it is, and training goes on there.
BOOST_AUTO_TEST_CASE(state_goes_to_the_device_and_back) {
  const Trained whole = train(*cpu(), 6);
  const Trained begun = train(*cpu(), 3);
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_for(*backend, graph, momentum_sgd()));
  store.initialise(99);
  BOOST_TEST(store.load(begun.state).empty());
  BOOST_TEST(store.state_sha256() == state_sha256(views_of(begun.state)));
  for (uint32_t i = 3; i < 6; ++i) {
    fill_inputs(session, graph, i);
    session.step();
  }
  Trained rest{{}, store.canonical()};
  rest.losses = whole.losses;
  check_close(whole, rest, 2e-5);
  std::unique_ptr<Backend> host = cpu();
  StateStore back(*host);
  Session on_host(*host, back, compile_for(*host, graph, momentum_sgd()));
  back.initialise(1);
  BOOST_TEST(back.load(rest.state).empty());
  BOOST_TEST(back.state_sha256() == store.state_sha256());
}

BOOST_AUTO_TEST_CASE(a_step_is_one_graph_and_copies_beside_it) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_for(*backend, graph, momentum_sgd()));
  store.initialise(1);
  const std::vector<std::string> first = log_of_step(gpu, session, graph, 0);
  BOOST_TEST(count(first, "cuLaunchKernel") > 5);
  BOOST_TEST(count(first, "cuStreamSynchronize") > 5);  // the first run waits after every step
  for (uint32_t i : {1u, 2u}) {
    const std::vector<std::string> log = log_of_step(gpu, session, graph, i);
    BOOST_TEST(count(log, "cuStreamBeginCapture") == 1);
    BOOST_TEST(count(log, "cuGraphInstantiate") == 1);
    BOOST_TEST(count(log, "cuStreamSynchronize") == 0);
  }
  // Compute is s1, copies s2. A slot has a graph, and two events, made one after the other: its inputs were copied, it
  // was computed.
  std::string copied_of_slot[2], launch_of_slot[2];
  for (uint32_t i : {3u, 4u, 5u, 6u}) {
    const std::vector<std::string> log = log_of_step(gpu, session, graph, i);
    BOOST_REQUIRE(log.size() == 7u);
    BOOST_REQUIRE(log[0].starts_with("cuEventSynchronize e"));
    const int number = std::stoi(log[0].substr(log[0].rfind('e') + 1));
    const std::string copied = "e" + std::to_string(number), computed = "e" + std::to_string(number + 1);
    BOOST_TEST(log[1] == "cuStreamWaitEvent s2 " + computed);
    BOOST_TEST(log[2].starts_with("cuMemcpyHtoDAsync_v2 "));
    BOOST_TEST(log[2].ends_with(" s2"));
    BOOST_TEST(log[3] == "cuEventRecord " + copied + " s2");
    BOOST_TEST(log[4] == "cuStreamWaitEvent s1 " + copied);
    BOOST_TEST(log[5].starts_with("cuGraphLaunch "));
    BOOST_TEST(log[5].ends_with(" s1"));
    BOOST_TEST(log[6] == "cuEventRecord " + computed + " s1");
    if (i > 4) BOOST_TEST(copied == copied_of_slot[i % 2]);
    if (i > 4) BOOST_TEST(log[5] == launch_of_slot[i % 2]);
    copied_of_slot[i % 2] = copied;
    launch_of_slot[i % 2] = log[5];
  }
  BOOST_TEST(copied_of_slot[0] != copied_of_slot[1]);
  BOOST_TEST(launch_of_slot[0] != launch_of_slot[1]);
}

// A host that only takes steps lets the device run behind; reading late waits for the step before the last.
BOOST_AUTO_TEST_CASE(reading_late_waits_for_no_more_than_it_needs) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_for(*backend, graph, momentum_sgd()));
  store.initialise(1);
  for (uint32_t i = 0; i < 4; ++i) (void)log_of_step(gpu, session, graph, i);
  session.read_scalar("loss", 1);
  const int64_t before = gpu.operations();
  session.read_scalar("loss", 1);
  BOOST_TEST(gpu.operations() == before);
  session.read_scalar("loss", 0);
  BOOST_TEST(gpu.operations() > before);
}

// Inputs that are filled once serve every later step, in both slots.
BOOST_AUTO_TEST_CASE(an_input_keeps_its_value) {
  const auto losses = [](Backend& backend) {
    const Graph graph = small_convnet(6);
    StateStore store(backend);
    Session session(backend, store, compile_for(backend, graph, momentum_sgd()));
    store.initialise(1);
    std::vector<double> result;
    for (int i = 0; i < 5; ++i) {
      if (i == 0 || i == 3) fill_inputs(session, graph, static_cast<uint32_t>(i));
      if (i == 4) std::fill_n(session.input("weights"), session.input_type("weights").bytes(), std::byte{0});
      session.step();
      result.push_back(session.read_scalar("loss"));
    }
    return result;
  };
  const std::vector<double> expected = losses(*cpu());
  FakeGpu gpu;
  const std::vector<double> got = losses(*make_fake_backend(gpu));
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-4);
  BOOST_TEST(got[4] == 0.0);
}

BOOST_AUTO_TEST_CASE(a_program_of_another_thread_runs_here) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  std::unique_ptr<StateStore> store;
  std::unique_ptr<Session> session;
  std::thread([&] {
    store = std::make_unique<StateStore>(*backend);
    session = std::make_unique<Session>(*backend, *store, compile_for(*backend, graph, momentum_sgd()));
    store->initialise(1);
  }).join();
  fill_inputs(*session, graph, 1);
  session->step();
  BOOST_TEST(session->read_scalar("loss") > 0);
}

BOOST_AUTO_TEST_CASE(everything_is_freed) {
  FakeGpu gpu;
  {
    std::unique_ptr<Backend> backend = make_fake_backend(gpu);
    train(*backend, 3);
    BOOST_TEST(gpu.live_allocations() == 1);  // what transfers go through
  }
  BOOST_TEST(gpu.live_allocations() == 0);
}

// ---- planted faults ----

// The host fills memory that is still being copied.
BOOST_AUTO_TEST_CASE(a_host_that_does_not_wait_is_noticed) {
  const Trained expected = train(*cpu(), 5);
  FakeGpu gpu;
  auto driver = gpu.driver();
  std::unique_ptr<Backend> backend = make_fake_backend(gpu, std::move(driver));
  const auto skip_waits = [&](Session&, StateStore&) { gpu.skip("cuEventSynchronize"); };
  const Trained got = train(*backend, 5, skip_waits);
  BOOST_TEST(got.losses != expected.losses);
  double difference = 0;
  for (size_t i = 0; i < got.losses.size(); ++i)
    difference = std::max(difference, std::abs(got.losses[i] - expected.losses[i]));
  BOOST_TEST(difference > 1e-2);
}

BOOST_AUTO_TEST_CASE(streams_that_do_not_wait_for_each_other_are_noticed) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const auto skip_waits = [&](Session&, StateStore&) { gpu.skip("cuStreamWaitEvent"); };
  BOOST_CHECK_EXCEPTION(train(*backend, 5, skip_waits), DriverFault, says("touch the same memory in no order"));
}

// ---- errors ----

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_is_named_with_the_users_line) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_for(*backend, graph, momentum_sgd()));
  store.initialise(1);
  fill_inputs(session, graph, 0);
  gpu.poison(session.compiled().program.final.kernels.at(1).name);
  BOOST_CHECK_EXCEPTION(session.step(), InternalError, [](const InternalError& error) {
    BOOST_TEST_MESSAGE(error.what());
    const std::string text = error.what();
    return text.find("cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719)") != std::string::npos &&
           text.find("\n  in step ") != std::string::npos && text.find("compile_check.cpp:") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_device_that_is_full_says_so) {
  FakeGpu gpu({.memory = 16 << 20});
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  BOOST_CHECK_EXCEPTION(backend->allocate(32 << 20), Error, [](const Error& error) {
    BOOST_TEST_MESSAGE(error.what());
    const std::string text = error.what();
    return text.starts_with("out of memory on the device: 33554432 bytes were asked for\n") &&
           text.find("a smaller --minibatch") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_capture_that_fails_leaves_no_capture_open) {
  FakeGpu gpu;
  std::unique_ptr<Backend> backend = make_fake_backend(gpu);
  const Graph graph = small_convnet(6);
  StateStore store(*backend);
  Session session(*backend, store, compile_for(*backend, graph, momentum_sgd()));
  store.initialise(1);
  fill_inputs(session, graph, 0);
  session.step();
  gpu.fail("cuLaunchKernel", 3, cuda::kInvalidValue);
  BOOST_CHECK_EXCEPTION(session.step(), InternalError, says("cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE"));
  BOOST_CHECK_NO_THROW(session.step());
  BOOST_TEST(session.read_scalar("loss") > 0);
}

BOOST_AUTO_TEST_CASE(without_a_device_it_says_what_is_missing) {
  FakeGpu gpu({.devices = 0});
  BOOST_CHECK_EXCEPTION(make_fake_backend(gpu), Error, says("missing: a device\n  got:     cuInit failed: "));
}

BOOST_AUTO_TEST_CASE(it_says_what_it_is) {
  FakeGpu gpu;
  const std::string text = make_fake_backend(gpu)->description();
  BOOST_TEST(text.starts_with("cuda: fake GPU, sm_90, 132 multiprocessors, 1 GiB, driver 13.0, emulated kernels, "));
}

BOOST_AUTO_TEST_SUITE_END()
