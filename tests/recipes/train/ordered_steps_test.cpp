// Asynchronous training and backup workers: gradients that an order applies. A model of one parameter is trained by
// plain loops in double, along the order that the training tells; other models are compared with synchronous training.
#include "recipes/train/ordered_steps.h"

#include <boost/test/unit_test.hpp>

#include "tests/recipes/train/pairs.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::ordered_steps_test {
namespace {

using namespace kb::test;

constexpr int64_t kSteps = 14, kWorkers = 8;  // eight workers share a step of 16 samples

TrainConfig ordered(Policy policy, int64_t steps = kSteps) {
  TrainConfig config = config_of_run(steps);
  config.sync.policy = policy;
  config.sync.bound = 1;
  config.sync.backups = 3;
  return config;
}

struct Told : Observer {
  std::vector<GradientRecord> records;
  std::vector<double> losses;
  OrderPlan plan;
  int64_t decided = -1;
  void order_begins(const OrderPlan& order, int64_t before) override {
    plan = order;
    decided = before;
  }
  void ordered(const GradientRecord& record) override { records.push_back(record); }
  void step(const StepMetrics& metrics) override { losses.push_back(metrics.loss); }
};

TrainingState train_and_tell(const Task& task, const TrainConfig& config, Told& told,
                             const TrainingState* from = nullptr) {
  LocalMachine machine(2);
  return train(task, config, machine, told, from).state;
}

// Returns the gradient that a record tells of, at the version that its worker has read.
double slope_of(const std::vector<double>& versions, const GradientRecord& record) {
  static const Order order = Order::training(1, kTrain, kMinibatch);
  constexpr int64_t kRows = kMinibatch / kWorkers;
  BOOST_TEST(record.applied_to.value() == std::ssize(versions) - 1);
  return test::slope_of(versions[static_cast<size_t>(record.read)], order, record.piece / kWorkers,
                        record.piece % kWorkers * kRows, kRows);
}

// Follows the order: gradients at the versions that were read, applied with momentum on the server, or velocities of
// their workers applied without.
double plain_loops(const TrainConfig& config, const std::vector<GradientRecord>& records) {
  const bool is_backup = config.sync.policy == Policy::backup;
  std::vector<double> versions = {0.5};
  const bool is_at_worker = config.sync.momentum_at == MomentumAt::worker;
  double velocity = 0, sum = 0, velocities[kWorkers] = {};
  int64_t arrived = 0;
  for (const GradientRecord& record : records) {
    if (record.fate != GradientFate::applied) continue;
    const double slope = slope_of(versions, record);
    double& own = velocities[record.worker % kWorkers];
    own = kMomentum * own + slope;
    sum += is_backup ? slope / kWorkers : slope;
    if (++arrived < (is_backup ? kWorkers : 1)) continue;
    const double staleness = static_cast<double>(record.staleness());
    const double share = is_backup                                    ? 1
                         : config.sync.stale_rate == StaleRate::plain ? 1.0 / kWorkers
                                                                      : 1 / std::max(1.0, staleness) / kWorkers;
    velocity = is_at_worker ? own : kMomentum * velocity + sum;
    versions.push_back(versions.back() - kRate * share * velocity);
    arrived = 0;
    sum = 0;
  }
  return versions.back();
}

// Follows an order of gradients that are applied alone with Adam, whose means correct themselves by the updates done.
double plain_adam(const std::vector<GradientRecord>& records) {
  std::vector<double> versions = {0.5};
  double mean = 0, square = 0;
  for (const GradientRecord& record : records) {
    const double slope = slope_of(versions, record), t = static_cast<double>(versions.size());
    mean = 0.9 * mean + 0.1 * slope;
    square = 0.999 * square + 0.001 * slope * slope;
    const double root = std::sqrt(square / (1 - std::pow(0.999, t)));
    versions.push_back(versions.back() - kRate / kWorkers * mean / (1 - std::pow(0.9, t)) / (root + 1e-8));
  }
  return versions.back();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ordered_steps)

BOOST_AUTO_TEST_CASE(it_follows_the_formulas) {
  for (const Policy policy : {Policy::async, Policy::stale, Policy::backup})
    for (const StaleRate rate : {StaleRate::plain, StaleRate::inverse})
      for (const char* times : {"constant", "exponential", "lognormal:0.5"}) {
        TrainConfig config = ordered(policy);
        config.sync.times = times;
        config.sync.stale_rate = rate;
        if (policy != Policy::backup && times == std::string("exponential"))
          config.sync.momentum_at = MomentumAt::worker;
        config.sync.late = rate == StaleRate::plain ? LateGradients::abandon : LateGradients::finish;
        Told told;
        const TrainingState state = train_and_tell(task_of(line), config, told);
        BOOST_TEST(element(find(state, "w"), 0) == plain_loops(config, told.records), kClose);
        BOOST_TEST(told.losses.size() == kSteps);
        BOOST_TEST(told.decided == 0);
      }
}

// A step has eight updates.
BOOST_AUTO_TEST_CASE(adam_counts_updates_and_not_steps) {
  for (const Policy policy : {Policy::async, Policy::stale}) {
    TrainConfig config = ordered(policy);
    config.learning.optimizer = "adam";
    config.learning.hyper = {};
    Told told;
    const TrainingState state = train_and_tell(task_of(line), config, told);
    BOOST_TEST(element(find(state, "w"), 0) == plain_adam(told.records), kClose);
  }
}

// Eq. 10 of Goyal et al. 2017 with the momentum correction is eq. 9, so each update corrects by the rate of the one
// before it: at most one of a step's updates meets a new rate of the schedule.
BOOST_AUTO_TEST_CASE(momentum_is_corrected_from_update_to_update) {
  for (const Policy policy : {Policy::async, Policy::stale, Policy::backup})
    for (const StaleRate rate : {StaleRate::plain, StaleRate::inverse}) {
      TrainConfig free = ordered(policy);
      free.learning.schedule = "cosine";
      free.learning.warmup_steps = 3;
      free.learning.warmup_from = kRate / 8;
      free.sync.stale_rate = rate;
      TrainConfig scaled = free;
      scaled.learning.optimizer = "scaled-momentum";
      const auto parameter = [](const TrainConfig& one) { return element(find(trained(task_of(line), one), "w"), 0); };
      BOOST_TEST(parameter(scaled) == parameter(free), kClose);
    }
}

// One worker is never stale, and no backup is every step's whole minibatch.
BOOST_AUTO_TEST_CASE(without_staleness_it_is_synchronous) {
  TrainConfig alone = ordered(Policy::async), sync = config_of_run(kSteps);
  for (TrainConfig* config : {&alone, &sync}) config->batch.per_worker = kMinibatch;
  const Task tasks[] = {task_of(line), task_of(network)};
  for (const Task& task : tasks) check_alike(trained(task, sync), trained(task, alone));
  TrainConfig none = ordered(Policy::backup);
  none.sync.backups = 0;
  check_alike(trained(tasks[0], config_of_run(kSteps)), trained(tasks[0], none));
  TrainConfig step = config_of_run(kSteps), stepwise = none;
  for (TrainConfig* config : {&step, &stepwise}) {
    config->learning.clip_norm = 0.01;
    config->arithmetic.running_statistics = StatisticsOf::mean;
  }
  check_alike(trained(tasks[1], step), trained(tasks[1], stepwise));
}

BOOST_AUTO_TEST_CASE(it_goes_on_after_a_stop_to_the_same_bits) {
  for (const Policy policy : {Policy::async, Policy::stale, Policy::backup}) {
    TrainConfig config = ordered(policy);
    config.sync.stale_rate = policy == Policy::backup ? StaleRate::plain : StaleRate::inverse;
    const Task task = task_of(network);
    Told whole;
    const std::string expected = state_sha256(views_of(train_and_tell(task, config, whole).tensors));
    for (const int64_t stop : {1, 5, 13}) {
      TrainConfig first = config;
      first.length.stop_at = parse_stop_at(fmt::format("{}st", stop));
      Told before, after;
      const TrainingState half = train_and_tell(task, first, before);
      const TrainingState state = train_and_tell(task, config, after, &half);
      BOOST_TEST(state_sha256(views_of(state.tensors)) == expected);
      BOOST_TEST(after.decided == std::ssize(before.records));
      before.records.insert(before.records.end(), after.records.begin(), after.records.end());
      BOOST_TEST((before.records == whole.records));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_order_in_a_file_is_computed_again) {
  const TemporaryDirectory directory;
  const std::string path = directory / "order.jsonl";
  Told told, again;
  const TrainConfig config = ordered(Policy::async);
  const TrainingState state = train_and_tell(task_of(line), config, told);
  {
    OrderWriter writer(path, told.plan);
    for (const GradientRecord& record : told.records) writer.write(record);
  }
  TrainConfig from_file = config;
  from_file.sync.order = path;
  from_file.sync.times = "constant";
  const TrainingState same = train_and_tell(task_of(line), from_file, again);
  BOOST_TEST(state_sha256(views_of(same.tensors)) == state_sha256(views_of(state.tensors)));
  BOOST_TEST((again.records == told.records));
  from_file.length.steps = kSteps + 1;
  BOOST_CHECK_EXCEPTION(trained(task_of(line), from_file), Error,
                        says("sync.order", "expected an order of 8 workers, 0 backups and 120 gradients"));
}

// A step of the metrics tells the virtual time and the mean staleness of its gradients: with constant times k - 1 from
// the second step on, one unit of time a step.
BOOST_AUTO_TEST_CASE(a_step_tells_time_and_staleness) {
  struct Steps : Observer {
    std::vector<StepMetrics> all;
    void step(const StepMetrics& metrics) override { all.push_back(metrics); }
  } steps;
  TrainConfig config = ordered(Policy::async);
  config.sync.times = "constant";
  LocalMachine machine(2);
  train(task_of(line), config, machine, steps);
  for (const StepMetrics& metrics : steps.all) {
    BOOST_TEST(metrics.clock_s.value() == static_cast<double>(metrics.step + 1));
    BOOST_TEST(metrics.staleness.value() == (metrics.step == 0 ? (kWorkers - 1) / 2.0 : kWorkers - 1));
  }
  steps.all.clear();
  config.sync.net = Network{0.25, 1e15};  // two messages of a quarter of a second each
  train(task_of(line), config, machine, steps);
  for (const StepMetrics& metrics : steps.all)
    BOOST_TEST(metrics.clock_s.value() == 1.5 * static_cast<double>(metrics.step + 1),
               boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(what_needs_all_gradients_of_a_step_is_refused) {
  const auto refuses = [](TrainConfig config, const char* member, const char* why) {
    BOOST_CHECK_EXCEPTION(trained(task_of(line), config), Error, says(member, why));
  };
  TrainConfig clipped = ordered(Policy::async), noise = clipped, scaled = clipped, half = clipped, halved = clipped,
              grown = clipped, times = clipped;
  TrainConfig adam = clipped;
  adam.sync.momentum_at = MomentumAt::worker;
  adam.learning.optimizer = "adam";
  adam.learning.hyper = {};
  refuses(adam, "sync.momentum_at = worker", "expected learning.optimizer = momentum, got adam");
  clipped.learning.clip_norm = 1;
  refuses(clipped, "learning.clip_norm", "sync.policy = async");
  noise.judging.noise_scale = true;
  refuses(noise, "judging.noise_scale", "sync.policy = async");
  scaled.learning.scaling = "adascale";
  scaled.learning.base_minibatch = 8;
  refuses(scaled, "adascale", "sync.policy = async");
  half.arithmetic.precision = Precision::f16;
  refuses(half, "arithmetic.precision = f16", "sync.policy = async");
  halved.learning.half_life = 100;
  refuses(halved, "learning.half_life", "sync.policy = async");
  grown.batch.growths = {{{1}, 2}};
  refuses(grown, "batch.growths", "sync.policy = async");
  TrainConfig ahead = ordered(Policy::backup);
  ahead.learning.optimizer = "schedule-free";
  ahead.learning.hyper = {};
  refuses(ahead, "learning.optimizer = schedule-free", "sync.policy");
  times.sync.times = "often";
  refuses(times, "--times", "often");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::ordered_steps_test
