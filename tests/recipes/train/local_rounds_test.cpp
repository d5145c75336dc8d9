// Local training: replicas that are joined after each round. A model of one parameter is trained by plain loops in
// double, by the formulas of the papers; other models are compared with synchronous training.
#include <boost/test/unit_test.hpp>
#include <set>

#include "recipes/train/loaded_programs.h"
#include "runtime/comm/halving_doubling.h"

#include "tests/recipes/train/pairs.h"
#include "tests/support/says.h"

namespace kb::local_rounds_test {
namespace {

using namespace kb::test;

TrainConfig local(TrainConfig config, int64_t replicas, int64_t every) {
  config.sync.policy = Policy::local;
  config.sync.replicas = replicas;
  config.sync.every = every;
  return config;
}

// The outer update of the papers: `velocity` is the outer optimizer's, `delta` the mean of joined less own parameters.
struct Outer {
  const char* name;
  double lr, momentum;
  double step(double w, double delta, double rate, double& velocity) const {
    if (std::string(name) == "sgd") return w - lr * rate * delta;
    velocity = momentum * velocity + delta;
    return w - lr * rate * (std::string(name) == "nesterov" ? delta + momentum * velocity : velocity);
  }
};

struct Replica {
  double w = 0.5, velocity = 0;
};

void begin_round(std::vector<Replica>& replicas, double joined, LocalSlots slots) {
  double mean = 0;
  for (const Replica& replica : replicas) mean += replica.velocity / static_cast<double>(replicas.size());
  for (Replica& replica : replicas)
    replica = {joined, slots == LocalSlots::keep ? replica.velocity : slots == LocalSlots::mean ? mean : 0};
}

struct Trained {
  double joined = 0.5, average = 0.5;
};

// Trains by plain loops, and returns the joined parameter and its average, which decays by D^H at a join. SlowMo (Wang
// et al. 2019, algorithm 1) divides the outer gradient by the inner rate, and multiplies its step by it.
Trained plain_loops(const TrainConfig& config, const Outer& outer) {
  const Order order = Order::training(1, kTrain, kMinibatch);
  const int64_t steps = config.length.steps, every = config.sync.every, count = config.sync.replicas;
  const LearningRate rates = make_rate({}, config.learning, make_plan(config, batch_plan(config.batch, 1), kTrain));
  std::vector<Replica> replicas(static_cast<size_t>(count));
  auto [joined, average] = Trained{};
  double velocity = 0;
  const int64_t rows = kMinibatch / count;
  for (int64_t step = 0; step < steps; ++step) {
    if (step % every == 0) begin_round(replicas, joined, config.sync.slots);
    double delta = 0;
    for (int64_t r = 0; r < count; ++r) {
      Replica& replica = replicas[static_cast<size_t>(r)];
      replica.velocity = kMomentum * replica.velocity + slope_of(replica.w, order, step, r * rows, rows);
      replica.w -= rates.at(step) * replica.velocity;
      delta += (joined - replica.w) / static_cast<double>(count);
    }
    const double rate = config.sync.outer_per_rate ? rates.at(step) : 1;
    if ((step + 1) % every != 0 && step + 1 != steps) continue;
    joined = outer.step(joined, delta / rate, rate, velocity);
    const double decay = std::pow(config.learning.ema, static_cast<double>(step % every + 1));
    average = decay * average + (1 - decay) * joined;
  }
  return {joined, average};
}

TrainConfig with_outer(TrainConfig config, const Outer& outer, LocalSlots slots) {
  config.sync.outer = outer.name;
  config.sync.outer_lr = outer.lr;
  config.sync.outer_momentum = outer.momentum;
  config.sync.slots = slots;
  return config;
}

// Checks that a process has the replicas of a whole run from number `first` on, at least one, and no other.
void check_own_share(const TrainingState& state, const TrainingState& whole, int64_t first, int64_t count) {
  for (const NamedTensor& tensor : state.tensors)
    BOOST_TEST((tensor.data == find(whole, tensor.name).data), tensor.name);
  for (int64_t replica = 0; replica < 4; ++replica) {
    const std::string name = "replica." + std::to_string(replica) + ".fc1.weight";
    const bool is_own = replica >= first && replica < first + std::max<int64_t>(1, count);
    BOOST_TEST(std::ranges::count(state.tensors, name, &NamedTensor::name) == (is_own ? 1 : 0));
  }
}

// Bytes that a rank sends to sum so many elements over all ranks by halving and doubling.
int64_t sent_bytes(int rank, int ranks, int64_t elements, int64_t element_bytes) {
  std::vector<Move> moves;
  plan_halving_doubling(rank, ranks, elements, 1, moves);
  int64_t sent = 0;
  for (const Move& move : moves) sent += move.send.elements();
  return sent * element_bytes;
}

// Bytes that a rank sends for the sums of a program.
int64_t bytes_of_sums(const Compiled& compiled, int rank, int ranks) {
  int64_t bytes = 0;
  for (const Schedule* schedule : compiled.program.all())
    for (const Step& step : schedule->steps) {
      if (step.cls != FusionClass::exchange) continue;
      const Type& type = schedule->node_of(step).type();
      bytes += sent_bytes(rank, ranks, type.elements(), size_of(type.dtype));
    }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_rounds)

// Local SGD (the mean), Lookahead (one replica, half the way), DiLoCo (Nesterov), SlowMo at a constant rate (momentum).
BOOST_AUTO_TEST_CASE(rounds_are_those_of_the_papers_formulas) {
  for (const Outer& outer :
       {Outer{"sgd", 1, 0}, Outer{"sgd", 0.5, 0}, Outer{"nesterov", 0.7, 0.9}, Outer{"momentum", 1, 0.5}})
    for (const int64_t replicas : {1, 2, 4})
      for (const LocalSlots slots : {LocalSlots::keep, LocalSlots::mean, LocalSlots::zero})
        BOOST_TEST_CONTEXT(outer.name << " " << outer.lr << ", " << replicas << " replicas") {
          // Three rounds, and one of two steps.
          const TrainConfig config = with_outer(local(config_of_run(14), replicas, 4), outer, slots);
          BOOST_TEST(element(find(trained(task_of(line), config), "w"), 0) == plain_loops(config, outer).joined,
                     kClose);
        }
}

// Adam's means correct themselves by the steps that they have gathered. The first round goes on with the slots of the
// steps before it.
BOOST_AUTO_TEST_CASE(slots_that_are_zeroed_count_their_steps_anew) {
  const Order order = Order::training(1, kTrain, kMinibatch);
  for (const int64_t first : {0, 3}) {
    TrainConfig config = local(config_of_run(14), 1, 4);
    config.sync.slots = LocalSlots::zero;
    if (first > 0) config.sync.from = Period{static_cast<double>(first), Period::Unit::steps};
    config.learning.optimizer = "adam";
    config.learning.hyper = {};
    double w = 0.5, mean = 0, square = 0, t = 0;
    for (int64_t step = 0; step < 14; ++step, ++t) {
      if (step > first && (step - first) % 4 == 0) mean = square = t = 0;
      const double slope = slope_of(w, order, step, 0, kMinibatch);
      mean = 0.9 * mean + 0.1 * slope;
      square = 0.999 * square + 0.001 * slope * slope;
      w -= kRate * mean / (1 - std::pow(0.9, t + 1)) / (std::sqrt(square / (1 - std::pow(0.999, t + 1))) + 1e-8);
    }
    BOOST_TEST(element(find(trained(task_of(line), config), "w"), 0) == w, kClose);
  }
}

// The scale of f16's loss is no slot of the optimizer: each replica keeps its own.
BOOST_AUTO_TEST_CASE(a_loss_scale_outlives_slots_that_are_zeroed) {
  TrainConfig config = local(config_of_run(12), 2, 4);
  config.sync.slots = LocalSlots::zero;
  config.arithmetic.precision = Precision::f32;
  const double w = element(find(trained(task_of(line), config), "w"), 0);
  config.arithmetic.precision = Precision::f16;
  const TrainingState state = trained(task_of(line), config);
  BOOST_TEST(element(find(state, "w"), 0) == w, boost::test_tools::tolerance(1e-2));
  for (const char* replica : {"replica.0.", "replica.1."})
    BOOST_TEST(element(find(state, std::string(replica) + "loss_scale"), 0) == 65536);
}

BOOST_AUTO_TEST_CASE(slow_momentum_divides_by_the_rate_of_its_round) {
  const Outer outer{"momentum", 1, 0.5};
  TrainConfig config = with_outer(local(config_of_run(14), 4, 4), outer, LocalSlots::mean);
  config.sync.outer_per_rate = true;
  TrainConfig plain = config;
  plain.sync.outer_per_rate = false;
  const auto parameter = [](const TrainConfig& one) { return element(find(trained(task_of(line), one), "w"), 0); };
  BOOST_TEST(parameter(config) == parameter(plain), kClose);  // at a constant rate it is outer momentum
  config.learning.schedule = plain.learning.schedule = "cosine";
  BOOST_TEST(parameter(config) == plain_loops(config, outer).joined, kClose);
  BOOST_TEST(std::abs(parameter(config) - parameter(plain)) > 1e-6);
  config.sync.outer = "scaled-momentum";  // the same steps, if the velocity is corrected from round to round
  BOOST_TEST(parameter(config) == plain_loops(config, outer).joined, kClose);
}

BOOST_AUTO_TEST_CASE(joined_parameters_are_averaged) {
  const Outer outer{"nesterov", 0.7, 0.9};
  TrainConfig config = with_outer(local(config_of_run(14), 4, 4), outer, LocalSlots::keep);
  config.learning.ema = 0.9;
  const TrainingState state = trained(task_of(line), config);
  const auto [joined, average] = plain_loops(config, outer);
  BOOST_TEST(element(find(state, "w"), 0) == joined, kClose);
  BOOST_TEST(element(find(state, "ema_offset.w"), 0) == average - joined, boost::test_tools::tolerance(1e-10));
  BOOST_TEST(std::ranges::count(state.tensors, "replica.0.ema_offset.w", &NamedTensor::name) == 0);
}

// The average of synchronous steps goes on at the joins: after a mean in every step it is that of synchronous training.
BOOST_AUTO_TEST_CASE(averages_of_steps_and_of_joins_are_one) {
  const Task task = task_of(line);
  TrainConfig sync = config_of_run(12);
  sync.learning.ema = 0.9;
  TrainConfig config = local(sync, 4, 1);
  config.sync.from = parse_duration("--from", "5st");
  check_alike(trained(task, sync), trained(task, config));
}

// Groups of parameters have scalars of their own, and a frozen one has none.
BOOST_AUTO_TEST_CASE(groups_of_parameters_are_joined) {
  const Task task = task_of(network);
  TrainConfig sync = config_of_run(12);
  sync.group_learning = {{"fc2", sync.learning}, {"bn", sync.learning}};
  sync.group_learning[0].learning.lr = 0.02;
  sync.group_learning[1].learning.optimizer = kFrozen;
  check_alike(trained(task, sync), trained(task, local(sync, 1, 5)));
  sync.group_learning[0].learning.ema = 0.8;
  check_alike(trained(task, sync), trained(task, local(sync, 4, 1)));
}

BOOST_AUTO_TEST_CASE(a_mean_after_each_step_and_one_replica_are_synchronous_training) {
  const Task task = task_of(network);
  const TrainingState sync = trained(task, config_of_run(12));
  check_alike(sync, trained(task, local(config_of_run(12), 4, 1)));
  for (const int64_t every : {1, 5, 12}) check_alike(sync, trained(task, local(config_of_run(12), 1, every)));
  const std::vector<double> losses = losses_of(task, config_of_run(12));
  BOOST_TEST(losses.size() == 12u);
  const std::vector<double> joined = losses_of(task, local(config_of_run(12), 4, 1));
  for (size_t step = 0; step < losses.size(); ++step) BOOST_TEST(joined.at(step) == losses[step], kClose);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_in_the_middle_of_a_round) {
  const Task task = task_of(network);
  TrainConfig config = local(config_of_run(14), 4, 4);
  config.sync.outer = "nesterov";
  config.arithmetic.precision = Precision::f32;
  for (const char* from : {"", "3st"}) {
    if (*from) config.sync.from = parse_duration("--from", from);
    const TrainingState whole = trained(task, config);
    BOOST_TEST(find(whole, "replica.3.velocity.fc1.weight").type.elements() == 16);
    BOOST_TEST(find(whole, "outer.velocity.fc1.weight").type.elements() == 16);
    for (const char* stop : {"2st", "3st", "6st", "8st"}) {
      TrainConfig first = config;
      first.length.stop_at = parse_stop_at(stop);
      const TrainingState middle = trained(task, first);
      BOOST_TEST(test::hash(trained(task, config, &middle)) == test::hash(whole), from << ", " << stop);
    }
  }
}

// Replicas are shared among processes, or have several each. A run stopped in the middle of a round goes on with
// another number of processes.
BOOST_AUTO_TEST_CASE(a_run_has_the_same_bits_on_any_number_of_processes) {
  const Task task = task_of(network);
  TrainConfig config = local(config_of_run(14), 4, 4);
  config.sync.outer = "nesterov";
  config.sync.from = parse_duration("--from", "2st");
  config.arithmetic.precision = Precision::f32;
  for (const auto& [replicas, sums, slots] :
       {std::tuple(4, DType::f32, LocalSlots::keep), std::tuple(2, DType::bf16, LocalSlots::mean)}) {
    config.sync.replicas = replicas;
    config.arithmetic.reduce_precision = sums;
    config.sync.slots = slots;
    TrainConfig first = config;
    first.length.stop_at = parse_stop_at("7st");
    const TrainingState whole = trained(task, config), middle = trained(task, first);
    const std::vector<double> losses = losses_of(task, config);
    for (const int processes : {2, 4}) {
      BOOST_TEST(hashes_of_ranks(processes, task, config).front() == test::hash(whole));
      std::vector<TrainingState> states(static_cast<size_t>(processes));
      std::vector<test::Losses> seen(states.size());
      on_ranks(processes, [&](int rank, Machine machine) {
        const auto at = static_cast<size_t>(rank);
        states[at] = train(task, config, machine, seen[at], &middle).state;
      });
      BOOST_TEST(test::hash(states.front()) == test::hash(whole));
      for (int rank = 1; rank < processes; ++rank)
        check_own_share(states[static_cast<size_t>(rank)], whole, rank * replicas / processes, replicas / processes);
      for (const test::Losses& one : seen) BOOST_TEST(one.values == std::vector(losses.begin() + 7, losses.end()));
    }
  }
}

// A rank sends the gradient in every synchronous step. Replicas send figures of a few bytes in a step, and as much as
// the gradient at the end of a round alone.
BOOST_AUTO_TEST_CASE(processes_send_parameters_once_a_round) {
  struct Sums : Observer {
    explicit Sums(int of_rank, int of_ranks) : rank(of_rank), ranks(of_ranks) {}
    bool ready(const Ready& all, LoopStart&) override {
      before = all.machine.world.communicator().traffic().bytes_sent;  // the network was measured
      step = bytes_of_sums(all.programs.update().compiled(), rank, ranks);
      if (const Session* session = all.programs.find(Use::join)) join = bytes_of_sums(session->compiled(), rank, ranks);
      return true;
    }
    const int rank, ranks;
    int64_t step = 0, join = 0, before = 0;
  };
  const Task task = task_of(network);
  for (const int ranks : {2, 3, 4})
    for (const int64_t every : {0, 2, 4}) {  // 0: synchronous
      TrainConfig config = config_of_run(8);
      config.batch.minibatch = 24;
      config.judging.eval_every = {};
      if (every > 0) config = local(config, ranks, every);
      std::vector<int64_t> sent(static_cast<size_t>(ranks)), formula(sent.size()), whole(sent.size());
      on_ranks(ranks, [&](int rank, Machine machine) {
        const auto at = static_cast<size_t>(rank);
        Sums sums(rank, ranks);
        train(task, config, machine, sums);
        sent[at] = machine.world.communicator().traffic().bytes_sent - sums.before;
        whole[at] = sums.step;
        formula[at] = every == 0 ? 8 * sums.step : 8 / every * sums.join + 8 * sent_bytes(rank, ranks, ranks, 8);
      });
      BOOST_TEST(sent == formula);
      if (every == 0) continue;
      for (size_t at = 0; at < sent.size(); ++at) BOOST_TEST(sent[at] < 8 * whole[at] / every * 1.5);
    }
}

BOOST_AUTO_TEST_CASE(replicas_begin_after_synchronous_steps) {
  const Task task = task_of(network);
  TrainConfig config = local(config_of_run(12), 4, 3);
  config.sync.from = parse_duration("--from", "1ep");  // 6 steps
  const TrainingState sync = trained(task, config_of_run(6));
  config.length.stop_at = parse_stop_at("6st");
  check_alike(sync, trained(task, config));
}

// Each replica keeps the statistics of its own first worker, which has the samples of no other replica.
BOOST_AUTO_TEST_CASE(replicas_have_running_statistics_of_their_own) {
  const TrainingState state = trained(task_of(network), local(config_of_run(2), 4, 2));
  const auto mean = [&](const std::string& replica) { return element(find(state, replica + "bn.running_mean"), 0); };
  BOOST_TEST(mean("") == mean("replica.0."));
  std::set<double> means;
  for (const char* replica : {"replica.0.", "replica.1.", "replica.2.", "replica.3."}) {
    BOOST_TEST(mean(replica) != 0);
    means.insert(mean(replica));
  }
  BOOST_TEST(means.size() == 4u);
}

BOOST_AUTO_TEST_CASE(means_of_running_statistics) {
  const Task task = task_of(network);
  TrainConfig config = local(config_of_run(2), 4, 2);
  config.arithmetic.running_statistics = StatisticsOf::mean;
  const TrainingState state = trained(task, config);
  for (int64_t i = 0; i < 8; ++i) {
    double mean = 0;
    for (const char* replica : {"0", "1", "2", "3"})
      mean += element(find(state, std::string("replica.") + replica + ".bn.running_mean"), i) / 4;
    BOOST_TEST(element(find(state, "bn.running_mean"), i) == mean, kClose);
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_go_with_replicas_is_refused) {
  const auto refused = [](auto change, const char* why) {
    TrainConfig config = local(config_of_run(4), 4, 2);
    change(config);
    BOOST_CHECK_EXCEPTION(trained(task_of(line), config), Error, says(why));
  };
  refused([](TrainConfig& config) { config.sync.replicas = 3; },
          "sync.replicas = 3: expected a divisor of the 8 workers of a step, got none\n  hint:     sync.replicas = 1, "
          "or 0,");
  refused([](TrainConfig& config) { config.sync.replicas = 6; }, "hint:     sync.replicas = 2, or 0, one a worker");
  refused([](TrainConfig& config) { config.sync.replicas = 16; }, "hint:     batch.per_worker = 1, a worker a replica");
  TrainConfig of_three = local(config_of_run(4), 4, 2);
  of_three.batch.minibatch = 24;
  BOOST_CHECK_EXCEPTION(make_plan(of_three, batch_plan(of_three.batch, 3), kTrain), Error,
                        says("sync.replicas = 4: expected a multiple or a divisor of the 3 processes"));
  refused([](TrainConfig& config) { config.sync.outer = "schedule-free"; }, "sync.outer = schedule-free: expected");
  refused([](TrainConfig& config) { config.sync.outer = "muon"; }, "sync.outer = muon: it takes matrices");
  refused([](TrainConfig& config) { config.judging.noise_scale = true; }, "judging.noise_scale: expected none beside");
  refused([](TrainConfig& config) { config.batch.growths = parse_growths("--f", "2st:x2"); }, "batch.growths");
  refused([](TrainConfig& config) { config.sync.outer = "addam"; }, "addam");
  refused([](TrainConfig& config) { config.sync.from = parse_duration("--from", "4st"); },
          "sync.from = 4st: expected replicas before the end of the run, after 4 steps");
  refused([](TrainConfig& config) { config.arithmetic.memory = 1e-6; }, "arithmetic.memory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::local_rounds_test
