// Ordered training on several processes: rank 0 serves, the others compute, in the order in which their gradients come.
// One process repeats that order to the same bits.
#include "recipes/train/gradient_server.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/orders/order_file.h"
#include "tests/recipes/train/pairs.h"
#include "tests/support/support.h"

namespace kb::gradient_server_test {
namespace {

using namespace kb::test;

constexpr int64_t kSteps = 10;

// Two workers share a step; a third is the backup.
TrainConfig on_team(Policy policy) {
  TrainConfig config = config_of_run(kSteps);
  config.batch.per_worker = kMinibatch / 2;
  config.sync.policy = policy;
  config.sync.late = LateGradients::finish;
  if (policy == Policy::stale) config.sync.momentum_at = MomentumAt::worker;
  return config;
}

int ranks_of(Policy policy) { return policy == Policy::backup ? 4 : 3; }

// Writes the order of the run to a file, as a run folder has it.
struct Recorder : Observer {
  explicit Recorder(std::string file) : path(std::move(file)) {}
  bool ready(const Ready&, LoopStart& start) override {
    if (start.step > 0) start.order = path;
    return true;
  }
  void order_begins(const OrderPlan& plan, int64_t decided) override {
    decided > 0 ? writer.emplace(path, plan, decided) : writer.emplace(path, plan);
  }
  void ordered(const GradientRecord& record) override { writer->write(record); }
  void step(const StepMetrics& metrics) override { losses.push_back(metrics.loss); }

  const std::string path;
  std::optional<OrderWriter> writer;
  std::vector<double> losses;
};

// Trains on a rank for each worker and one that serves. Returns the state of that one; its order is in the file, and
// its losses are added.
TrainingState train_on_team(const Task& task, const TrainConfig& config, const std::string& file,
                            std::vector<double>& losses, const TrainingState* from = nullptr) {
  TrainingState state;
  on_ranks(ranks_of(config.sync.policy), [&](int rank, Machine machine) {
    if (rank > 0) {
      Observer silent;
      train(task, config, machine, silent, from);
      return;
    }
    Recorder recorder(file);
    state = train(task, config, machine, recorder, from).state;
    losses.insert(losses.end(), recorder.losses.begin(), recorder.losses.end());
  });
  return state;
}

struct Repeated {
  std::string hash;
  std::vector<double> losses;
};

Repeated repeat(const Task& task, TrainConfig config, const std::string& file) {
  config.sync.order = file;
  test::Losses losses;
  Repeated result;
  on_ranks(1, [&](int, Machine machine) { result.hash = hash(train(task, config, machine, losses).state); });
  result.losses = losses.values;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradient_server)

BOOST_AUTO_TEST_CASE(one_process_repeats_the_order_of_several) {
  const TemporaryDirectory directory;
  const Task task = task_of(network);
  for (const Policy policy : {Policy::async, Policy::stale, Policy::backup})
    BOOST_TEST_CONTEXT(word_of(kPolicies, policy)) {
      const TrainConfig config = on_team(policy);
      const std::string file = directory / fmt::format("{}.jsonl", word_of(kPolicies, policy));
      std::vector<double> losses;
      const TrainingState state = train_on_team(task, config, file, losses);
      const Repeated again = repeat(task, config, file);
      BOOST_TEST(again.hash == hash(state));
      BOOST_TEST(again.losses == losses);
      BOOST_TEST(losses.size() == kSteps);
    }
}

BOOST_AUTO_TEST_CASE(it_goes_on_after_a_stop_in_one_order) {
  const TemporaryDirectory directory;
  const Task task = task_of(network);
  const std::string file = directory / "order.jsonl";
  TrainConfig config = on_team(Policy::async), first = config;
  first.length.stop_at = parse_stop_at("4st");
  std::vector<double> losses;
  const TrainingState half = train_on_team(task, first, file, losses);
  BOOST_TEST(half.step == 4);
  const TrainingState state = train_on_team(task, config, file, losses, &half);
  const Repeated again = repeat(task, config, file);
  BOOST_TEST(again.hash == hash(state));
  BOOST_TEST(again.losses == losses);
}

BOOST_AUTO_TEST_CASE(what_it_cannot_be_is_refused) {
  const auto refused = [](const TrainConfig& config, int ranks, const char* why) {
    std::vector<std::string> errors(static_cast<size_t>(ranks));
    on_ranks(ranks, [&](int rank, Machine machine) {
      try {
        Observer silent;
        train(task_of(line), config, machine, silent);
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
    for (const std::string& error : errors) BOOST_TEST(contains(error, why));
  };
  TrainConfig config = on_team(Policy::async);
  refused(config, 2,
          "sync.policy = async: expected one process, or 3: one that serves and one for each of the 2 workers, got 2");
  config.sync.order = "order.jsonl";
  refused(config, 3, "sync.order: expected one process");
  config = on_team(Policy::backup);
  config.sync.late = LateGradients::abandon;
  refused(config, 4, "sync.late = abandon: expected finish on 4 processes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradient_server_test
