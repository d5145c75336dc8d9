#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/functions.h"
#include "runtime/evaluate.h"
#include "tests/gpu/checks/checks.h"
#include "tests/gpu/checks/net_session.h"

namespace kb::test {
namespace {

// The greatest error of five steps in f32 with sums in another order, relative to the greatest element of a tensor.
constexpr double kBound = 2e-5;
// Milliseconds. The driver gives the time between two events as f32 with a resolution of "around 0.5 microseconds";
// this is twice that.
constexpr double kClockResolution = 1e-3;

void trains_as_the_cpu(TestGpu& gpu) {
  const Trained expected = train(*small_cpu(), 5);
  check_close(expected, train(*gpu.backend(), 5), kBound * gpu.slack());
}

void two_runs_give_the_same_bits(TestGpu& gpu) {
  const Trained one = train(*gpu.backend(), 5);
  check_equal(one, train(*gpu.backend(), 5));
}

// Three steps run on the host, and three on the device and on the host again.
void state_goes_to_the_device_and_back(TestGpu& gpu) {
  const std::unique_ptr<Backend> host = small_cpu(), device = gpu.backend();
  const Trained whole = train(*host, 6), begun = train(*host, 3);
  NetSession net(*device, 99);
  BOOST_TEST(net.store.load(begun.state).empty());
  BOOST_TEST(net.store.state_sha256() == state_sha256(views_of(begun.state)));
  const Trained rest = train(net, 3, 6);
  check_state(whole.state, rest.state, kBound * gpu.slack());
  NetSession back(*host, 1);
  BOOST_TEST(back.store.load(rest.state).empty());
  BOOST_TEST(back.store.state_sha256() == net.store.state_sha256());
}

// Inputs that are filled once serve every later step, in both of the slots that steps use in turn. Large inputs do so
// too, although each is copied by itself.
void inputs_keep_their_values(TestGpu& gpu, int64_t samples) {
  const auto losses = [samples](Backend& backend) {
    NetSession net(backend, 3, samples);
    std::vector<double> result;
    for (uint32_t i = 0; i < 6; ++i) {
      if (i == 0 || i == 3) net.fill(i);
      if (i == 5) std::fill_n(net.session.input("weights"), net.session.input_type("weights").bytes(), std::byte{0});
      net.session.step();
      result.push_back(net.session.read_scalar("loss"));
    }
    return result;
  };
  const std::vector<double> expected = losses(*small_cpu()), got = losses(*gpu.backend());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-4 * gpu.slack() * std::max(1.0, std::abs(expected[i])));
  BOOST_TEST(got.back() == 0.0);
}

void lent_inputs_are_copied_from_where_they_lie(TestGpu& gpu) {
  const std::vector<double> expected = losses_of_lent(*small_cpu(), 1);
  const std::vector<double> got = losses_of_lent(*gpu.backend(), 2);
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-4 * gpu.slack());
  BOOST_TEST(expected[0] != expected[1]);
}

// Parts of a concat that have places of their own, as inputs have, are copied, and may be there twice. The result is
// larger than those that come back with every step.
void parts_of_a_concat_are_copied(TestGpu& gpu) {
  std::vector<float> a(24), b(20'000);
  std::iota(a.begin(), a.end(), 1.0F);
  std::iota(b.begin(), b.end(), 1000.0F);
  Graph graph("parts");
  const Tensor first = input(graph, "a", DType::f32, {24}), second = input(graph, "b", DType::f32, {20'000});
  graph.outputs.push_back({"whole", concat({first, second, first}, 0).value()});
  std::vector<float> expected = a;
  for (const std::vector<float>& part : {b, a}) expected.insert(expected.end(), part.begin(), part.end());
  const std::unique_ptr<Backend> backend = gpu.backend();
  const GraphResults results = evaluate(graph, {{"a", a}, {"b", b}}, {.backend = backend.get()});
  BOOST_TEST((results.values<float>("whole") == expected));
}

// A step is captured once for each slot and replayed after that. Steps that wait after every part are not captured.
// Both compute the same.
void captured_steps_equal_uncaptured_ones(TestGpu& gpu) {
  constexpr uint32_t kSteps = 7;
  const std::unique_ptr<Backend> waiting = gpu.backend({.sync_steps = true, .cache_directory = ""}),
                                 replaying = gpu.backend();
  const auto run = [&](Backend& backend, int64_t captures, int64_t replays) {
    NetSession net(backend);
    const DriverCalls before = gpu.calls;
    const Trained trained = train(net, 0, kSteps);
    BOOST_TEST(gpu.calls.captures - before.captures == captures);
    BOOST_TEST(gpu.calls.graph_launches - before.graph_launches == replays);
    return trained;
  };
  const Trained uncaptured = run(*waiting, 0, 0);
  replaying->use_algorithm_choices(waiting->algorithm_choices());
  check_equal(uncaptured, run(*replaying, 2, kSteps - 1));
}

// Returns how far a time may be off the sum of two others, none longer than `milliseconds`: each of the three is off by
// the resolution, and rounded to f32.
double clock_bound(double milliseconds) {
  return 3 * (kClockResolution + milliseconds * std::numeric_limits<float>::epsilon() / 2);
}

// Checks the times of the inputs, of the parts one after another, and of the results.
void check_clock(const Profile& profile) {
  BOOST_REQUIRE(profile.copies.size() == 2);
  const CopyTime &inputs = profile.copies[0], &results = profile.copies[1];
  BOOST_TEST(inputs.bytes > 0);
  BOOST_TEST(results.bytes > 0);
  double end = inputs.start + inputs.milliseconds;
  for (const StepTime& time : profile.steps) {
    BOOST_TEST(time.start >= end - clock_bound(end));
    BOOST_TEST(time.milliseconds >= 0);
    end = time.start + time.milliseconds;
  }
  BOOST_TEST(results.start >= end);
}

// Steps with a clock around every part train as other steps do.
void profiled_steps_count(TestGpu& gpu) {
  const std::unique_ptr<Backend> backend = gpu.backend();
  const Trained expected = train(*backend, 5);
  NetSession net(*backend);
  const size_t parts = net.session.compiled().program.at(PartRole::prepare).steps.size() +
                       net.session.compiled().program.at(PartRole::final).steps.size();
  for (uint32_t i = 0; i < 5; ++i) {
    net.fill(i);
    if (i != 2 && i != 3) {
      net.session.step();
      continue;
    }
    const Profile profile = net.session.profile();
    BOOST_TEST(profile.steps.size() == parts);
    check_clock(profile);
    BOOST_TEST(net.session.read_scalar("loss") == expected.losses[i]);
  }
  BOOST_TEST(net.store.state_sha256() == state_sha256(views_of(expected.state)));
}

// Returns a graph of two convolutions that may be products of matrices, with what a step computes of their results.
Graph products(int64_t samples) {
  Graph graph;
  const auto tensor = [&](const char* name, Dims shape) { return input(graph, name, DType::bf16, std::move(shape)); };
  const Tensor y = convolution(tensor("x", {samples, 16, 4, 5}), tensor("w", {24, 16, 1, 1}), {{1, 1}});
  const Tensor dx = convolution_input_grad(y, tensor("v", {24, 32, 1, 1}), {{1, 1}}, 1, {4, 5}, 32);
  const auto add_output = [&](const char* name, Tensor value) { graph.outputs.push_back({name, value.value()}); };
  add_output("y", y);
  add_output("mean", moments(cast(y, DType::f32), {0, 2, 3}).mean);
  add_output("dx", dx);
  add_output("sum", sum(cast(dx, DType::f32), {0, 2, 3}));
  return graph;
}

// Whether the library or a kernel of our own computes a product is measured once for a size. Given to another backend,
// the pick gives the same bits without trials.
void a_products_pick_is_used_again(TestGpu& gpu) {
  constexpr int64_t kSamples = 2;
  const Graph graph = products(kSamples);
  std::vector<float> x(kSamples * 16 * 20), w(24 * 16), v(24 * 32);
  for (std::vector<float>* each : {&x, &w, &v})
    for (size_t i = 0; i < each->size(); ++i) (*each)[i] = static_cast<float>((7 * i) % 33) / 16 - 1;
  const auto run = [&](Backend& backend) {
    CompiledGraph compiled(graph, {.backend = &backend});
    const DriverCalls before = gpu.calls;
    const GraphResults results = compiled.run({{"x", x}, {"w", w}, {"v", v}});
    std::vector<float> all;
    for (const char* name : {"y", "mean", "dx", "sum"})
      for (const float value : results.values<float>(name)) all.push_back(value);
    BOOST_TEST(gpu.calls.launches > before.launches);
    return all;
  };
  const std::unique_ptr<Backend> measuring = gpu.backend(), told = gpu.backend();
  const std::vector<float> results = run(*measuring);
  const Backend::AlgorithmChoices choices = measuring->algorithm_choices();
  for (const char* product : {"matrices forward bf16 40 x 16 x 24", "matrices input_grad bf16 40 x 24 x 32"})
    BOOST_TEST(choices.contains(product), product);
  told->use_algorithm_choices(choices);
  const int64_t captures = gpu.calls.captures;
  BOOST_TEST((run(*told) == results), "equal picks, other bits");
  BOOST_TEST(gpu.calls.captures == captures, "trials of what was picked");
  BOOST_TEST((told->algorithm_choices() == choices));
}

void steady_steps_allocate_nothing_on_the_device(TestGpu& gpu) {
  const std::unique_ptr<Backend> backend = gpu.backend();
  NetSession net(*backend);
  train(net, 0, 3);
  const DriverCalls before = gpu.calls;
  train(net, 3, 8);
  BOOST_TEST(gpu.calls.allocations == before.allocations);
  BOOST_TEST(gpu.calls.launches == before.launches);
  BOOST_TEST(gpu.calls.graph_launches == before.graph_launches + 5);
}

}  // namespace

std::vector<GpuCheck> session_checks() {
  const auto replays = &DriverCalls::graph_launches;
  return {{"trains_as_the_cpu", trains_as_the_cpu, replays, true},
          {"two_runs_give_the_same_bits", two_runs_give_the_same_bits, replays},
          {"state_goes_to_the_device_and_back", state_goes_to_the_device_and_back, replays, true},
          {"inputs_keep_their_values", [](TestGpu& gpu) { inputs_keep_their_values(gpu, 6); }, replays, true},
          {"large_inputs_keep_their_values", [](TestGpu& gpu) { inputs_keep_their_values(gpu, 96); }, replays, true},
          {"lent_inputs_are_copied_from_where_they_lie", lent_inputs_are_copied_from_where_they_lie, replays, true},
          {"parts_of_a_concat_are_copied", parts_of_a_concat_are_copied, &DriverCalls::copies},
          {"captured_steps_equal_uncaptured_ones", captured_steps_equal_uncaptured_ones, replays},
          {"a_products_pick_is_used_again", a_products_pick_is_used_again, &DriverCalls::launches},
          {"profiled_steps_count", profiled_steps_count, replays},
          {"steady_steps_allocate_nothing_on_the_device", steady_steps_allocate_nothing_on_the_device, replays}};
}

}  // namespace kb::test
