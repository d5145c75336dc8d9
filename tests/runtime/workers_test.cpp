// Steps shared among processes and virtual workers: every split of them ends in the same bits.
#include <boost/test/unit_test.hpp>

#include <map>
#include <set>
#include <thread>

#include "compiler/passes/worker_routines.h"
#include "graph/functions.h"
#include "runtime/session.h"
#include "tests/runtime/worker_run.h"
#include "tests/support/compile_check.h"
#include "tests/support/in_process.h"
#include "tests/support/says.h"

namespace kb::workers_test {
namespace {

using Split = test::WorkerSplit;
using Run = test::WorkerRun;
using Outcome = test::WorkerOutcome;

const std::vector<Split> kSplitsOfEight = {{1, 8}, {2, 4}, {4, 2}, {8, 1}};
const std::vector<Split> kTwoSplitsOfEight = {{1, 8}, {4, 2}};  // tests of many rules take these
const char* const kLayerWise[] = {"lars", "lars-mlperf", "lars-unscaled", "lars-plain",
                                  "larc", "lamb",        "rmsprop-warmup"};

Outcome run_process(const Run& run, Communicator& communicator) {
  const auto backend =
      make_cpu_backend({.threads = 1, .shards = 1, .cache_directory = "", .communicator = &communicator});
  return run_process(run, *backend, communicator.rank());
}

// Runs all processes in threads and returns the outcome that they have in common.
Outcome run_split(const Run& run) {
  const auto network = make_in_process_network(run.split.processes);
  std::vector<Outcome> outcomes(static_cast<size_t>(run.split.processes));
  std::vector<std::exception_ptr> failures(outcomes.size());
  {
    std::vector<std::jthread> processes;
    for (int rank = 0; rank < run.split.processes; ++rank)
      processes.emplace_back([&, rank] {
        try {
          const auto communicator = make_in_process_communicator(network, rank);
          outcomes[static_cast<size_t>(rank)] = run_process(run, *communicator);
        } catch (...) {
          failures[static_cast<size_t>(rank)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (const Outcome& outcome : outcomes) BOOST_TEST((outcome == outcomes[0]));
  return outcomes[0];
}

void check_one_set_of_bits(Run run, std::vector<Split> splits) {
  run.split = splits.front();
  const Outcome expected = run_split(run);
  for (size_t i = 1; i < splits.size(); ++i) {
    run.split = splits[i];
    const Outcome got = run_split(run);
    BOOST_TEST_INFO("split " << run << " against " << splits.front().processes << " x "
                             << splits.front().virtual_workers);
    BOOST_TEST(got.state == expected.state);
    BOOST_TEST((got.losses == expected.losses));
  }
}

const NamedTensor& find(const Outcome& outcome, const std::string& name) {
  for (const NamedTensor& tensor : outcome.tensors)
    if (tensor.name == name) return tensor;
  throw std::logic_error("no tensor " + name);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(workers)

BOOST_AUTO_TEST_CASE(splits_of_eight_workers_end_in_the_same_bits) { check_one_set_of_bits({}, kSplitsOfEight); }

BOOST_AUTO_TEST_CASE(two_groups_of_parameters_end_in_the_same_bits) {
  check_one_set_of_bits({.bucket_bytes = 4096, .two_groups = true, .optimizer = "lars"}, kSplitsOfEight);
}

BOOST_AUTO_TEST_CASE(buckets_and_random_bits_change_nothing) {
  check_one_set_of_bits({.bucket_bytes = 4096, .random = true}, {{1, 4}, {2, 2}, {4, 1}});
  const Outcome whole = run_split({.split = {4, 1}});
  const Outcome cut = run_split({.split = {4, 1}, .bucket_bytes = 4096});
  BOOST_TEST(whole.state == cut.state);
}

BOOST_AUTO_TEST_CASE(a_clock_around_every_part_changes_nothing) {
  for (const Split& split : {Split{2, 1}, Split{2, 2}}) {
    const Outcome plain = run_split({.split = split, .bucket_bytes = 4096});
    const Outcome timed = run_split({.split = split, .bucket_bytes = 4096, .profiled = true});
    BOOST_TEST((timed == plain));
    BOOST_TEST(plain.overlaps.empty());
    BOOST_TEST(timed.overlaps.size() == 3u);
    for (const Overlap& overlap : timed.overlaps) test::check_clock(overlap);
  }
}

BOOST_AUTO_TEST_CASE(norms_of_gradients_change_nothing_and_are_the_same_in_every_split) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    const Outcome plain = run_split({.split = {1, 8}, .precision = precision});
    BOOST_TEST(plain.mean_norm.empty());
    const Outcome first = run_split({.split = {1, 8}, .precision = precision, .gradient_norms = true});
    for (const Split& split : precision == Precision::f32 ? kSplitsOfEight : kTwoSplitsOfEight) {
      const Outcome outcome = run_split({.split = split, .precision = precision, .gradient_norms = true});
      BOOST_TEST((outcome == plain));
      BOOST_TEST(outcome.workers_norm == first.workers_norm);
      BOOST_TEST(outcome.mean_norm == first.mean_norm);
    }
  }
  const Outcome buckets = run_split({.split = {4, 2}, .bucket_bytes = 4096, .gradient_norms = true});
  BOOST_TEST((buckets == run_split({.split = {4, 2}, .bucket_bytes = 4096})));
  const Outcome whole = run_split({.split = {1, 8}, .gradient_norms = true});
  BOOST_TEST(buckets.workers_norm == whole.workers_norm);
}

// Each worker alone, from the first state: its gradient is the mean over its own samples.
BOOST_AUTO_TEST_CASE(norms_of_gradients_are_those_of_each_worker_alone) {
  constexpr int kWorkers = 5;
  double expected = 0;
  for (int64_t worker = 0; worker < kWorkers; ++worker)
    expected += run_split({.steps = 1, .log_layers = true, .first_worker = worker}).layers_norm.at(0);
  for (const Split& split : {Split{1, kWorkers}, Split{kWorkers, 1}})
    for (const int64_t bucket : {0, 4096}) {
      const Outcome all =
          run_split({.split = split, .steps = 1, .bucket_bytes = bucket, .gradient_norms = true, .log_layers = true});
      BOOST_TEST(kWorkers * kWorkers * all.workers_norm.at(0) == expected, boost::test_tools::tolerance(1e-5));
      BOOST_TEST(all.mean_norm.at(0) == all.layers_norm.at(0), boost::test_tools::tolerance(1e-5));
      BOOST_TEST(all.vector_norm.at(0) == all.layers_norm.at(0), boost::test_tools::tolerance(1e-5));
    }
}

// In f16 gradients are those of the loss times a scale, by which the norms are divided.
BOOST_AUTO_TEST_CASE(norms_of_gradients_are_those_of_the_loss_itself) {
  const Outcome half = run_split({.split = {1, 4}, .precision = Precision::f16, .gradient_norms = true});
  const Outcome full = run_split({.split = {1, 4}, .gradient_norms = true});
  BOOST_TEST(half.mean_norm.at(0) == full.mean_norm.at(0), boost::test_tools::tolerance(0.05));
  BOOST_TEST(half.workers_norm.at(0) == full.workers_norm.at(0), boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(counts_that_are_no_power_of_two_have_one_order_where_virtual_workers_are_one) {
  check_one_set_of_bits({}, {{1, 3}, {3, 1}});
  check_one_set_of_bits({}, {{1, 6}, {3, 2}, {6, 1}});
  check_one_set_of_bits({}, {{1, 7}, {7, 1}});
}

BOOST_AUTO_TEST_CASE(splits_agree_in_other_precisions) {
  for (const Precision precision : {Precision::bf16, Precision::f64, Precision::f16})
    check_one_set_of_bits({.precision = precision}, {{1, 4}, {2, 2}, {4, 1}});
}

BOOST_AUTO_TEST_CASE(sums_are_rounded_alike_whoever_adds_up) {
  const Outcome exact = run_split({.split = {2, 2}});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    check_one_set_of_bits({.reduce_precision = dtype}, {{1, 4}, {2, 2}, {4, 1}});
    check_one_set_of_bits({.bucket_bytes = 4096, .reduce_precision = dtype}, {{1, 6}, {3, 2}, {6, 1}});
    const Outcome rounded = run_split({.split = {2, 2}, .reduce_precision = dtype});
    BOOST_TEST(rounded.state != exact.state);
    BOOST_TEST(rounded.losses.back() == exact.losses.back(), boost::test_tools::tolerance(0.05));
    // Losses and running statistics keep their precision.
    BOOST_TEST(rounded.losses.front() == exact.losses.front());
  }
}

// A layer's norm is computed from the gradient summed over all workers, in one order, so that no split changes its
// bits.
BOOST_AUTO_TEST_CASE(layer_wise_rules_end_in_the_same_bits) {
  for (const char* optimizer : kLayerWise) {
    BOOST_TEST_INFO_SCOPE(optimizer);
    check_one_set_of_bits({.optimizer = optimizer}, kSplitsOfEight);
  }
}

BOOST_AUTO_TEST_CASE(layer_wise_rules_sum_rounded_gradients_alike) {
  for (const char* optimizer : kLayerWise) {
    BOOST_TEST_INFO_SCOPE(optimizer);
    check_one_set_of_bits({.bucket_bytes = 4096, .reduce_precision = DType::bf16, .optimizer = optimizer},
                          kTwoSplitsOfEight);
  }
}

BOOST_AUTO_TEST_CASE(layer_wise_rules_go_on_in_another_split) {
  bool grows = false;  // whether the run goes on with more processes than before; rules take turns
  for (const char* optimizer : kLayerWise) {
    grows = !grows;
    const auto [before, behind] = grows ? std::pair{Split{2, 4}, Split{8, 1}} : std::pair{Split{4, 2}, Split{1, 8}};
    const Outcome whole = run_split({.split = {1, 8}, .steps = 4, .optimizer = optimizer});
    const Outcome stopped = run_split({.split = before, .steps = 2, .optimizer = optimizer});
    BOOST_TEST(stopped.state != whole.state);
    const Outcome resumed =
        run_split({.split = behind, .steps = 4, .optimizer = optimizer, .first_step = 2, .start = stopped.tensors});
    BOOST_TEST(resumed.state == whole.state, optimizer);
  }
}

BOOST_AUTO_TEST_CASE(running_statistics_are_those_of_the_first_worker) {
  const Outcome alone = run_split({.split = {1, 1}, .steps = 1});
  const Outcome many = run_split({.split = {2, 2}, .steps = 1});
  for (const char* name : {"bn1.running_mean", "block.bn2.running_var"}) {
    BOOST_TEST_INFO(name);
    BOOST_TEST((find(alone, name).data == find(many, name).data));
  }
  BOOST_TEST((find(alone, "fc.weight").data != find(many, "fc.weight").data));
}

// After one step the running statistics are the mean of those that each worker alone would keep.
BOOST_AUTO_TEST_CASE(running_statistics_may_be_the_mean_over_workers) {
  check_one_set_of_bits({.mean_statistics = true}, {{1, 4}, {2, 2}, {4, 1}});
  const Outcome many = run_split({.split = {1, 4}, .steps = 1, .mean_statistics = true});
  const NamedTensor& got = find(many, "bn1.running_mean");
  std::vector<double> expected(static_cast<size_t>(got.type.elements()));
  for (int64_t worker = 0; worker < 4; ++worker) {
    const Outcome alone = run_split({.steps = 1, .first_worker = worker});
    const NamedTensor& own = find(alone, "bn1.running_mean");
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] += load_element(DType::f32, own.data.data(), static_cast<int64_t>(i)) / 4;
  }
  for (size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST(std::abs(load_element(DType::f32, got.data.data(), static_cast<int64_t>(i)) - expected[i]) < 1e-7);
}

BOOST_AUTO_TEST_CASE(the_binary_counter_adds_up_as_a_tree) {
  // Runs the routines on text in place of sums.
  const SumGroup group = SumGroup::rest;
  for (int64_t workers = 1; workers <= 40; ++workers) {
    const Routines all = worker_routines({group}, workers);
    std::map<std::string, std::string> sums;
    const auto add = [](const std::string& a, const std::string& b) { return "(" + a + "+" + b + ")"; };
    for (int64_t worker = 0; worker + 1 < workers; ++worker)
      for (const PartCall& call : all.routines.at(all.of_worker.at(static_cast<size_t>(worker)))) {
        const auto sum = [&](CarryVariable variable) -> std::string& {
          return sums[call.variable(carry_name(variable, group))];
        };
        if (call.part == static_cast<size_t>(PartRole::micro))
          sums[call.variable(leaf_name(group))] = std::to_string(worker);
        else if (call.part == static_cast<size_t>(PartRole::carry))
          sum(CarryVariable::sum) = add(sum(CarryVariable::below), sum(CarryVariable::own));
      }
    std::string total = std::to_string(workers - 1);
    for (int64_t level = 0; level < carry_levels(workers); ++level)
      if (((workers - 1) >> level & 1) != 0) total = add(sums.at(partial_name(level, group)), total);
    const std::function<std::string(int64_t, int64_t)> tree = [&](int64_t begin, int64_t count) {
      if (count == 1) return std::to_string(begin);
      int64_t first = 1;
      while (2 * first < count) first *= 2;
      return add(tree(begin, first), tree(begin + first, count - first));
    };
    BOOST_TEST(total == tree(0, workers));
  }
}

BOOST_AUTO_TEST_CASE(a_sum_over_workers_inside_the_step_is_refused) {
  Graph g = test::small_convnet(2);
  const Tensor loss(g, g.outputs[0].value);
  g.outputs[0].value = (loss * worker_sum(loss)).value();
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = test::momentum_sgd()}};
  compile(g, options);
  options.workers = {1, 2};
  BOOST_CHECK_EXCEPTION(compile(g, options), Error,
                        test::says("reads what is summed over the workers at workers_test.cpp:"));
}

BOOST_AUTO_TEST_CASE(a_bucket_is_under_way_while_the_next_is_computed) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.workers = {2, 1, 4096};
  options.groups = {{.rule = test::momentum_sgd()}};
  const Schedule schedule = compile(test::small_convnet(2), options).program.at(PartRole::final);
  std::vector<std::string> order;
  for (const Step& step : schedule.steps)
    if (step.cls == FusionClass::exchange || step.cls == FusionClass::wait ||
        step.name.starts_with("conv2d_weight_grad"))
      order.push_back(std::string(step.cls == FusionClass::library ? "grad" : name(step.cls)));
  const auto first = std::find(order.begin(), order.end(), "exchange");
  BOOST_TEST(std::count(order.begin(), order.end(), "exchange") > 2);
  BOOST_TEST(std::count(order.begin(), order.end(), "exchange") == std::count(order.begin(), order.end(), "wait"));
  BOOST_TEST((std::find(first, order.end(), "grad") != order.end()));
  BOOST_TEST((std::find(order.begin(), std::find(order.begin(), order.end(), "wait"), "grad") != order.end()));
}

// Many workers need the memory of one, and that of partial gradients: one in the leaf, and one for each of the 8 levels
// of the tree of 256 workers.
BOOST_AUTO_TEST_CASE(many_workers_take_a_gradient_a_level_and_one_more) {
  const auto bytes = [](int64_t virtual_workers) {
    CompileOptions options;
    options.target = generic_cpu_target();
    options.workers = {1, virtual_workers};
    options.groups = {{.rule = test::momentum_sgd()}};
    const Compiled compiled = compile(test::small_convnet(2), options);
    int64_t total = 0;
    for (const Schedule* schedule : compiled.program.all()) total = std::max(total, schedule->arena_bytes);
    for (const Variable& variable : compiled.variables)
      if (variable.kind == VariableKind::partial) total += variable.type.bytes();
    return std::pair(total, compiled.space.length * 4);
  };
  const auto [alone, gradient] = bytes(1);
  const auto [many, same] = bytes(256);
  const int64_t rest = 9 * 4 * 4 * (16 + 16 + 16 + 16);  // running statistics and the loss, which travel beside it
  BOOST_TEST(many <= alone + 9 * gradient + rest);
}

// On a GPU a worker with an odd number, but for the last, runs in an arena of its own beside the one before it.
BOOST_AUTO_TEST_CASE(two_workers_are_side_by_side_where_two_arenas_fit) {
  const auto compiled = [](const Target& target, int64_t virtual_workers) {
    CompileOptions options;
    options.target = target;
    options.workers = {1, virtual_workers};
    options.groups = {{.rule = test::momentum_sgd()}};
    return compile(test::small_convnet(2), options);
  };
  const Target gpu = gpu_target("sm_90");
  Target small = gpu;
  small.memory_bytes = 1000;
  for (int64_t workers = 1; workers <= 6; ++workers) {
    const Program program = compiled(gpu, workers).program;
    for (int64_t worker = 0; worker < workers; ++worker)
      for (const PartCall& call : program.routines.at(program.of_worker.at(static_cast<size_t>(worker)))) {
        const bool beside = worker % 2 == 1 && worker + 1 < workers && program.parts[call.part].role == PartRole::micro;
        BOOST_TEST(call.lane == (beside ? 1 : 0), worker << " of " << workers);
      }
    BOOST_TEST(lanes(program) == (workers > 2 ? 2 : 1));
    const int64_t micro = program.at(PartRole::micro).arena_bytes;
    BOOST_TEST(arena_bytes(program) == arena_bytes(program, 0) + (workers > 2 ? micro : 0));
    BOOST_TEST(lanes(compiled(generic_cpu_target(), workers).program) == 1);
    BOOST_TEST(lanes(compiled(small, workers).program) == 1);
  }
}

BOOST_AUTO_TEST_CASE(more_virtual_workers_compile_no_new_kernel) {
  const auto kernels = [](int64_t virtual_workers) {
    CompileOptions options;
    options.target = generic_cpu_target();
    options.workers = {1, virtual_workers};
    options.groups = {{.rule = test::momentum_sgd()}};
    std::set<std::string> names;
    const Compiled compiled = compile(test::small_convnet(2), options);
    for (const Schedule* schedule : compiled.program.all())
      for (const ir::Kernel& kernel : schedule->kernels) names.insert(kernel.name);
    return names;
  };
  const std::set<std::string> two = kernels(2);
  for (int64_t workers : {3, 4, 8, 15, 256}) BOOST_TEST((kernels(workers) == two));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::workers_test
