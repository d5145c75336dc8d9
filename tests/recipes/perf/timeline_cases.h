// Timelines of hand-made and of compiled steps.
#pragma once
#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include "compiler/schedule/plan_memory.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/perf/timeline.h"
#include "recipes/report/picture.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/programs.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/hand_step.h"
#include "tests/support/support.h"

namespace kb::timeline_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const auto kClose = boost::test_tools::tolerance(1e-9);

// Adds a node that the user wrote at `line` of model.cpp, or at no line if it is 0.
inline int32_t node_at(Graph& graph, int32_t line) {
  Node node;
  node.outputs = {{DType::f32, {256}, "N"}};
  if (line > 0) node.frame = graph.intern_frame({"somewhere/model.cpp", line, -1});
  graph.nodes.push_back(node);
  return static_cast<int32_t>(graph.nodes.size()) - 1;
}

struct HandStep {
  FusionClass cls;
  std::string name;
  std::vector<int32_t> lines;
  std::vector<int32_t> reads, writes;
  int64_t bytes = 0, flops = 0;
  int32_t reduction = -1;
};

inline Schedule hand_schedule(const std::string& name, int buffers, const std::vector<HandStep>& steps,
                              PartRole role = PartRole::final) {
  constexpr int64_t kBytes = 1024;
  auto graph = std::make_shared<Graph>(name);
  Schedule schedule;
  schedule.name = name;
  schedule.role = role;
  for (int b = 0; b < buffers; ++b) schedule.buffers.push_back({BufferKind::arena, "", kBytes, 0, 1000, 0, -1});
  for (const HandStep& one : steps) {
    const auto s = static_cast<int32_t>(schedule.steps.size());
    Step step = test::hand_step(one.cls, one.reduction);
    step.name = one.name;
    for (const int32_t line : one.lines) step.nodes.push_back(node_at(*graph, line));
    step.inputs = static_cast<int32_t>(one.reads.size());
    step.bytes = one.bytes;
    step.flops = one.flops;
    for (const auto* list : {&one.reads, &one.writes})
      for (const int32_t b : *list) {
        Buffer& buffer = schedule.buffers.at(static_cast<size_t>(b));
        buffer.first = std::min(buffer.first, s);
        buffer.last = s;
        if (list == &one.writes && buffer.node < 0 && !step.nodes.empty()) buffer.node = step.nodes.back();
        step.operands.push_back({b, 0});
        step.extents.push_back(kBytes);
      }
    schedule.steps.push_back(step);
  }
  schedule.graph = graph;
  plan_memory(schedule);
  return schedule;
}

// A step by hand: forward, backward with a bucket that is summed beside it, and update. Some names have characters that
// XML has to escape.
struct Hand {
  Schedule prepare =
      hand_schedule("prepare", 2, {{FusionClass::library, "pack_weights fc", {3}, {0}, {1}, 2048}}, PartRole::prepare);
  Schedule net = hand_schedule("net", 5,
                               {{FusionClass::library, "matmul fc", {5}, {0, 1}, {2}, 3'000'000, 50'000'000},
                                {FusionClass::pointwise, "select a < b & \"c\"", {6, 7, 8, 9, 10, 6}, {2}, {3}, 3072},
                                {FusionClass::copy, "concat", {0}, {3}, {4}, 2048},
                                {FusionClass::exchange, "all_reduce 0", {0}, {}, {4}, 1024, 0, 0},
                                {FusionClass::row_reduce, "reduce_sum", {7}, {2}, {3}, 2048},
                                {FusionClass::wait, "wait for all_reduce 0", {}, {}, {4}, 0, 0, 0},
                                {FusionClass::pointwise, "sub", {11}, {4}, {1}, 2048}});
  std::vector<const Schedule*> programs{&prepare, &net};

  Profile profile() const {
    Profile result;
    result.copies.push_back({"inputs", 5000, 0, 0.5});
    result.append(std::vector<StepTime>{{0, 0.25}});
    result.append(std::vector<StepTime>{
        {0, 2}, {2, 0.5}, {2.5, 0.0625}, {2.5625, 0.0625}, {2.625, 1.375}, {4, 0.75, 2.625, 4.75}, {4.75, 0.25}});
    return result;
  }

  Timeline timeline() const {
    Timeline result = make_timeline(programs, profile(), [](int32_t) { return "fc.*"; });
    result.title = "hand <made>: a step, measured";
    result.device = "cpu: none";
    result.notes = {"a whole step", "5.5 ms"};
    return result;
  }
};

inline const Box& box(const Timeline& timeline, const std::string& id) {
  for (const Box& one : timeline.boxes)
    if (one.id == id) return one;
  throw std::logic_error("no box " + id);
}

inline std::vector<std::string> ids_of(const Timeline& timeline) {
  std::vector<std::string> ids;
  for (const Box& one : timeline.boxes) ids.push_back(one.id);
  return ids;
}

inline std::vector<Json> of_phase(const std::string& trace, const std::string& phase) {
  std::vector<Json> events;
  const Json file = Json::parse(trace);
  for (const Json& event : file.at("traceEvents"))
    if (event.at("ph") == phase) events.push_back(event);
  return events;
}

inline void check_lanes(const Timeline& timeline) {
  for (const Lane lane : {Lane::compute, Lane::communication, Lane::copy}) {
    double end = 0;
    for (const Box* one : timeline.of(lane)) {
      BOOST_TEST(one->start >= end - 1e-9, one->id);
      BOOST_TEST(one->milliseconds >= 0, one->id);
      end = one->end();
      BOOST_TEST(end <= timeline.milliseconds);
    }
  }
}

// A compiled step of two processes and its predicted times.
struct Predicted {
  Compiled compiled;
  std::vector<const Schedule*> programs;
  Profile profile;
  Timeline timeline;

  explicit Predicted(const std::vector<std::string>& more = {}) {
    const Recipe recipe = resnet_cifar();
    std::vector<std::string> words{"--depth",   "8",           "--minibatch", "8",           "--dataset",
                                   "synthetic", "--processes", "2",           "--bucket-mb", "0.1"};
    words.insert(words.end(), more.begin(), more.end());
    const RunConfig config = *parse_flags(recipe, "", words);
    compiled = compile_training(declared_task(recipe, config),
                                settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
    programs = {&compiled.program.at(PartRole::prepare), &compiled.program.at(PartRole::final)};
    std::vector<double> seconds;
    for (const Schedule* schedule : programs)
      for (const double one : estimated_seconds(*schedule, {1e9, 1e10})) seconds.push_back(one);
    profile = predicted_profile(programs, seconds, reduction_seconds(compiled, {50e-6, 50e6}));
    timeline = step_timeline(compiled, programs, profile, {"a step, predicted", "no device"});
  }
};

}  // namespace kb::timeline_test
