// A step that has run before touches no new page and allocates nothing; what oneDNN's own code allocates is counted
// apart.
#include <sys/resource.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <utility>

#include "data/sets/synthetic.h"
#include "graph/interpreter.h"
#include "optim/optimizer.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/task/model.h"
#include "recipes/train/feed.h"
#include "recipes/train/train.h"
#include "runtime/cpu/arena_guard.h"
#include "runtime/session.h"
#include "tests/runtime/allocations.h"
#include "tests/support/compile_check.h"

namespace kb::steady_state_test {

using namespace kb::test;

namespace {

struct Counts {
  int64_t ours = 0, library = 0, faults = 0;

  static Counts now() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return {allocations_of_ours(), allocations_of_onednn(), usage.ru_minflt + usage.ru_majflt};
  }
  Counts operator-(const Counts& start) const {
    return {ours - start.ours, library - start.library, faults - start.faults};
  }
};

Optimizer adamw() {
  return *std::find_if(optimizers().begin(), optimizers().end(), [](const Optimizer& o) { return o.name == "adamw"; });
}

StepScalars cosine_scalars() {
  return {LearningRate({.shape = "cosine", .learning_rate = 1e-3, .total_steps = 100}), adamw(), {}};
}

std::unique_ptr<Session> training_session(Backend& backend, StateStore& store, int64_t n, Precision precision) {
  CompileOptions options;
  options.target = backend.target();
  options.groups = {{.rule = update_rule(adamw())}};
  options.precision = precision;
  Graph graph = small_convnet(n);
  auto session = std::make_unique<Session>(backend, store, compile(graph, options));
  store.initialise(1);
  for (const auto& [name, array] : random_bindings(graph, 1)) {
    if (!session->has_input(name)) continue;
    for (size_t i = 0; i < array.data.size(); ++i)
      store_element(session->input_type(name).dtype, session->input(name), static_cast<int64_t>(i), array.data[i]);
  }
  return session;
}

// Takes one step as a trainer does.
void step(Session& session, StepScalars& scalars, int64_t number, std::vector<double>& loss) {
  for (const NamedScalar& scalar : scalars.at(number)) session.set_scalar(scalar.name, scalar.value);
  session.step();
  session.read("loss", loss);
  loss[0] = session.read_scalar("loss");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(steady_state)

BOOST_AUTO_TEST_CASE(five_steps_allocate_nothing_and_fault_on_no_page) {
  if (kGuarded) {
    BOOST_TEST_MESSAGE("skipped: AddressSanitizer allocates and touches shadow pages of its own");
    return;
  }
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::f64}) {
    std::unique_ptr<Backend> backend = make_cpu_backend({2, 2, ""});
    StateStore store(*backend);
    std::unique_ptr<Session> session = training_session(*backend, store, 64, precision);
    std::vector<double> loss;
    StepScalars scalars = cosine_scalars();
    int64_t number = 0;
    for (int i = 0; i < 2; ++i) step(*session, scalars, number++, loss);
    // The operating system may take pages back from a process that it holds for idle; a page that the step itself makes
    // faults every time.
    Counts steady;
    for (int attempt = 0; attempt < 5; ++attempt) {
      Counts start = Counts::now();
      for (int i = 0; i < 5; ++i) step(*session, scalars, number++, loss);
      steady = Counts::now() - start;
      if (steady.faults == 0) break;
    }
    BOOST_TEST_MESSAGE("five steps: " << steady.ours << " allocations of ours, " << steady.library << " of oneDNN's, "
                                      << steady.faults << " page faults");
    BOOST_TEST(steady.ours == 0);
    BOOST_TEST(steady.faults == 0);
  }
}

ModelOutput convnet(Batch& batch) {
  Tensor x = relu(batch_norm("bn", conv2d("conv", batch.images, 16, {.kernel = 3, .padding = 1})));
  return classification(batch, linear("fc", global_avg_pool(x), batch.classes));
}

// Steps with a loader and all augmentation, done by the loader or by the graph, allocate nothing and fault on no page.
BOOST_AUTO_TEST_CASE(steps_with_a_loader_allocate_nothing_and_fault_on_no_page) {
  if (kGuarded) return;
  constexpr int64_t kRows = 64;
  const Recipe recipe = {.name = "convnet", .summary = "", .paper = "", .model = convnet};
  const InputSpec input = {"synthetic", {3, 32, 32}, 10, {0.5, 0.5, 0.5}, {0.3, 0.3, 0.3}, 1024};
  const auto data =
      std::make_shared<const Dataset>(synthetic_dataset({.shape = input.shape, .train_count = 1024, .test_count = 1}));
  const AugmentSpec all = {.crop = true, .flip = true, .cutout = 16, .mixup = 1};
  for (const bool in_loader : {false, true}) {
    std::unique_ptr<Backend> backend = make_cpu_backend({2, 2, ""});
    StateStore store(*backend);
    CompileOptions options;
    options.target = backend->target();
    options.groups = {{.rule = update_rule(adamw())}};
    const AugmentSpec in_graph = in_loader ? AugmentSpec{.mixup = 1} : all;
    Task task = image_task(recipe, input, {}, in_graph);
    set_image_sources(task, input, data, {all, 1, mean_pixel(input.mean), in_loader});
    Session session(*backend, store, compile(build_training_graph(task, kRows), options));
    store.initialise(1);
    session.set_scalar("label_smoothing", 0.1);
    std::vector<HostBatch> slots;
    for (int i = 0; i < 4; ++i) slots.emplace_back(session, task.fields);
    const FieldFill fill = task.train->gather(Order::training(1, 1024, kRows), 0);
    Loader loader([&](int64_t number, int slot) { fill(number, slots[static_cast<size_t>(slot)].memory()); }, 4,
                  {.threads = 2});
    std::vector<double> loss;
    StepScalars scalars = cosine_scalars();
    int64_t number = 0;
    const auto take_steps = [&](int count) {
      for (int i = 0; i < count; ++i) {
        slots[static_cast<size_t>(loader.next().slot)].lend(session);
        step(session, scalars, number++, loss);
      }
    };
    take_steps(6);  // every slot has been filled once
    Counts steady;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const Counts start = Counts::now();
      take_steps(8);
      steady = Counts::now() - start;
      if (steady.faults == 0) break;
    }
    BOOST_TEST(steady.ours == 0);
    BOOST_TEST(steady.faults == 0);
  }
}

// This test shows that the counters count.
BOOST_AUTO_TEST_CASE(a_fresh_page_is_a_fault) {
  if (kGuarded) return;
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  Counts start = Counts::now();
  std::unique_ptr<DeviceMemory> memory = backend->allocate(1 << 20);
  Counts used = Counts::now() - start;
  BOOST_TEST(used.faults >= 256);
  BOOST_TEST(used.ours >= 1);
}

// Counts allocations from step to step.
struct AllocationsOfSteps : Observer {
  int64_t last = 0;
  std::vector<int64_t> counts;

  AllocationsOfSteps() { counts.reserve(1000); }
  bool wants_progress() override { return true; }
  void step(const StepMetrics&) override {
    counts.push_back(allocations_of_ours() - std::exchange(last, allocations_of_ours()));
  }
};

// A source whose numbers follow from the number of the batch. It allocates nothing when it fills a batch.
struct Ramp : Source {
  int64_t count() const override { return 1024; }
  FieldFill gather(const Order&, int64_t) const override {
    return [](int64_t batch, const FieldMemory& memory) {
      const std::span<std::byte> x = memory.fields.at(0);
      for (size_t at = 0; at + sizeof(float) <= x.size(); at += sizeof(float)) {
        const float value = static_cast<float>((static_cast<size_t>(batch) + at) % 97) / 97;
        std::memcpy(x.data() + at, &value, sizeof value);
      }
      std::fill(memory.weights.begin(), memory.weights.end(), 1.0f);
      std::fill(memory.samples.begin(), memory.samples.end(), 0);
    };
  }
};

// The steps are within an epoch, and have all figures that a step may have.
BOOST_AUTO_TEST_CASE(steps_of_the_training_loop_allocate_nothing) {
  if (kGuarded) return;
  const auto source = std::make_shared<Ramp>();
  const auto model = [](Inputs& in) -> ModelOutput {
    Tensor error = mean(abs(linear("out", in["x"], 1) - 1.0), {1});
    return {error * error, {{"distance", error}}};
  };
  const Task task = {.name = "points",
                     .fields = {{.name = "x", .dtype = DType::f32, .shape = {2}, .in_memory = true}},
                     .model = model,
                     .train = source,
                     .test = source};
  TrainConfig config = config_of({.minibatch = 16, .optimizer = "momentum", .lr = 0.01});
  config.length.steps = 60;
  config.batch.per_worker = 8;
  config.judging.train_metrics = config.judging.noise_scale = true;
  AllocationsOfSteps seen;
  train(task, config, LocalMachine(2), seen);
  BOOST_REQUIRE(seen.counts.size() == 60u);
  for (size_t step = 10; step < seen.counts.size(); ++step)
    BOOST_TEST(seen.counts[step] == 0, "step " << step << ": " << seen.counts[step]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::steady_state_test
