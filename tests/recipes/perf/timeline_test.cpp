// A step on its axis, in one structure and in the two files that are written from it.
#include "recipes/perf/timeline.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/schedule/plan_memory.h"
#include "recipes/papers/table.h"
#include "recipes/perf/overlap_forecast.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/report/picture.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/bucket_choice.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/hand_step.h"
#include "tests/support/support.h"

namespace kb::timeline_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const auto kClose = boost::test_tools::tolerance(1e-9);

// A node that the user wrote at a line of model.cpp; none where it is 0.
int32_t node_at(Graph& graph, int32_t line) {
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

Schedule hand_schedule(const std::string& name, int buffers, const std::vector<HandStep>& steps,
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

// A forward and a backward step, a bucket beside the backward step, the update; names that XML has to escape.
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

const Box& box(const Timeline& timeline, const std::string& id) {
  for (const Box& one : timeline.boxes)
    if (one.id == id) return one;
  throw std::logic_error("no box " + id);
}

std::vector<std::string> ids_of(const Timeline& timeline) {
  std::vector<std::string> ids;
  for (const Box& one : timeline.boxes) ids.push_back(one.id);
  return ids;
}

std::vector<Json> of_phase(const std::string& trace, const std::string& phase) {
  std::vector<Json> events;
  const Json file = Json::parse(trace);
  for (const Json& event : file.at("traceEvents"))
    if (event.at("ph") == phase) events.push_back(event);
  return events;
}

void check_lanes(const Timeline& timeline) {
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

}  // namespace

BOOST_AUTO_TEST_SUITE(timeline)

BOOST_AUTO_TEST_CASE(boxes_of_a_hand_made_step) {
  const Hand hand;
  const Timeline timeline = hand.timeline();
  check_lanes(timeline);
  BOOST_TEST(timeline.milliseconds == 5.75);
  BOOST_TEST(timeline.of(Lane::compute).size() == 8u);
  BOOST_TEST(box(timeline, "prepare.0").start == 0.5);
  BOOST_TEST(box(timeline, "net.0").start == 0.75);
  BOOST_TEST(box(timeline, "net.0").place == "model.cpp:5");
  // The lines of all its nodes, each once.
  BOOST_TEST(box(timeline, "net.1").place == "model.cpp:6, model.cpp:7, model.cpp:8, model.cpp:9 and 1 more");
  BOOST_TEST((box(timeline, "net.1").writes == std::vector<std::string>{"b3"}));
  // Boxes of ops that no user line wrote have the source lines of the values that they hand on.
  BOOST_TEST(box(timeline, "net.3").place == box(timeline, "net.1").place);
  BOOST_TEST(box(timeline, "net.5").place == box(timeline, "net.1").place);
  const Box sum = box(timeline, "net.all_reduce.0");
  BOOST_TEST((sum.lane == Lane::communication));
  BOOST_TEST(sum.start == 3.375);
  BOOST_TEST(sum.end() == 5.5);
  BOOST_TEST(sum.name == "all-reduce 0: fc.*");
  BOOST_TEST(sum.bytes == 1024);
  BOOST_TEST(sum.place == box(timeline, "net.1").place);
  BOOST_TEST((box(timeline, "copy.inputs").lane == Lane::copy));
}

BOOST_AUTO_TEST_CASE(the_memory_under_a_hand_made_step) {
  const Hand hand;
  const Timeline timeline = hand.timeline();
  BOOST_REQUIRE(timeline.memory.size() == 8u);
  std::vector<int64_t> kilobytes;
  for (const LiveBytes& live : timeline.memory) kilobytes.push_back(live.bytes / 1024);
  BOOST_TEST((kilobytes == std::vector<int64_t>{2, 3, 3, 4, 4, 4, 2, 2}));
  BOOST_TEST(timeline.arena_bytes == hand.net.arena_bytes);
  BOOST_TEST(timeline.peak_id == "net.2");
  BOOST_TEST(timeline.peak.bytes == hand.net.liveness_bound_bytes);
  BOOST_TEST(timeline.peak_start == box(timeline, "net.2").start);
}

BOOST_AUTO_TEST_CASE(golden_files) {
  const Timeline timeline = Hand().timeline();
  test::golden("picture.svg", picture_svg(timeline));
  test::golden("trace.json", trace_json({trace_events(timeline, 0), trace_events(timeline, 1)}));
}

BOOST_AUTO_TEST_CASE(a_trace_has_the_ids_of_the_picture) {
  const Timeline timeline = Predicted().timeline;
  std::vector<std::string> ids = ids_of(timeline), traced;
  const std::string trace = trace_json({trace_events(timeline, 0)}), picture = picture_svg(timeline);
  for (const Json& event : of_phase(trace, "X")) {
    const Box& one = box(timeline, event.at("args").at("id"));
    traced.push_back(one.id);
    BOOST_TEST(event.at("name") == one.name);
    BOOST_TEST(event.at("cat") == one.kind);
    BOOST_TEST(event.at("args").at("place") == one.place);
    BOOST_TEST(std::abs(event.at("ts").get<double>() - 1e3 * one.start) < 1e-3);
    BOOST_TEST(std::abs(event.at("dur").get<double>() - 1e3 * one.milliseconds) < 1e-3);
    BOOST_TEST(event.at("tid") == static_cast<int>(one.lane));
  }
  BOOST_TEST(traced == ids, boost::test_tools::per_element());
  for (const std::string& id : ids) BOOST_TEST(picture.find("<title>" + id + "  ") != std::string::npos, id);
  std::sort(ids.begin(), ids.end());
  BOOST_TEST((std::adjacent_find(ids.begin(), ids.end()) == ids.end()));
}

BOOST_AUTO_TEST_CASE(a_trace_names_processes_lanes_and_memory) {
  const Predicted one;
  const std::string trace = trace_json({trace_events(one.timeline, 0), trace_events(one.timeline, 1)});
  std::set<int> processes;
  std::set<std::string> names;
  for (const Json& event : of_phase(trace, "M")) {
    processes.insert(event.at("pid").get<int>());
    if (event.at("args").contains("name")) names.insert(event.at("args").at("name"));
  }
  BOOST_TEST((processes == std::set<int>{0, 1}));
  BOOST_TEST((names == std::set<std::string>{"no device", "compute", "communication"}));
  int64_t most = 0;
  for (const Json& event : of_phase(trace, "C")) most = std::max(most, event.at("args").at("bytes").get<int64_t>());
  BOOST_TEST(most == one.timeline.peak.bytes);
  // An arrow from every start of an all-reduce over it to its wait, of either process.
  const size_t reductions = 2 * one.timeline.of(Lane::communication).size();
  for (const char* phase : {"s", "t", "f"}) BOOST_TEST(of_phase(trace, phase).size() == reductions);
  std::map<int64_t, double> reached;
  for (const char* phase : {"s", "t", "f"})
    for (const Json& event : of_phase(trace, phase)) {
      double& at = reached[event.at("id").get<int64_t>()];
      BOOST_TEST(event.at("ts").get<double>() >= at - 2e-3);
      at = event.at("ts");
    }
  BOOST_TEST(reached.size() == reductions);
}

BOOST_AUTO_TEST_CASE(a_predicted_step_adds_up) {
  const Predicted one;
  check_lanes(one.timeline);
  const Overlap overlap =
      measured_overlap(one.compiled.program.at(PartRole::final),
                       std::span(one.profile.steps).last(one.compiled.program.at(PartRole::final).steps.size()));
  double compute = 0, exposed = 0, communication = 0;
  for (const Box& part : one.timeline.boxes) {
    if (part.lane == Lane::communication)
      communication += part.milliseconds;
    else
      (part.kind == "wait" ? exposed : compute) += part.milliseconds;
  }
  BOOST_TEST(compute + exposed == one.timeline.milliseconds, kClose);
  BOOST_TEST(exposed == 1e3 * overlap.exposed, kClose);
  BOOST_TEST(exposed > 0);
  BOOST_TEST(communication == 1e3 * overlap.communication, kClose);
  BOOST_TEST(one.timeline.of(Lane::communication).size() == overlap.reductions.size());
}

BOOST_AUTO_TEST_CASE(every_box_has_the_users_line) {
  for (const Box& part : Predicted().timeline.boxes) {
    BOOST_TEST(part.place.find(".cpp:") != std::string::npos, part.id + " " + part.name);
    BOOST_TEST(!part.name.empty());
  }
}

BOOST_AUTO_TEST_CASE(the_memory_peaks_where_the_planner_says) {
  const Predicted one;
  int64_t most = 0;
  for (const LiveBytes& live : one.timeline.memory) most = std::max(most, live.bytes);
  BOOST_TEST(most == one.timeline.peak.bytes);
  BOOST_TEST(most <= one.timeline.arena_bytes);
  BOOST_TEST(most == one.compiled.program.at(PartRole::final).liveness_bound_bytes);
  BOOST_TEST(!one.timeline.peak.tensors.empty());
}

// Forward, backward and update stand one behind the other, over all compute.
BOOST_AUTO_TEST_CASE(a_step_has_a_run_of_every_phase) {
  const Timeline timeline = Predicted().timeline;
  const std::vector<PhaseRun> runs = phase_runs(timeline);
  std::vector<Phase> phases;
  for (const PhaseRun& run : runs) phases.push_back(run.phase);
  if (phases.at(0) == Phase::prepare) phases.erase(phases.begin());  // without a library none is prepared
  std::string boxes;
  for (const Box* one : timeline.of(Lane::compute)) boxes += std::string(name(one->phase)) + ": " + one->name + "\n";
  BOOST_TEST((phases == std::vector<Phase>{Phase::forward, Phase::backward, Phase::update}), boxes);
  BOOST_TEST(runs.front().start == timeline.of(Lane::compute).front()->start);
  BOOST_TEST(runs.back().end == timeline.of(Lane::compute).back()->end());
  for (size_t i = 1; i < runs.size(); ++i) BOOST_TEST(runs[i].start == runs[i - 1].end, kClose);
}

BOOST_AUTO_TEST_CASE(a_picture_has_a_band_a_phase) {
  Timeline timeline = Hand().timeline();
  std::vector<Box*> compute;
  for (Box& one : timeline.boxes)
    if (one.lane == Lane::compute) compute.push_back(&one);
  for (size_t i = 0; i < compute.size(); ++i)
    compute[i]->phase = i < 3 ? Phase::forward : i < 6 ? Phase::backward : Phase::update;
  const std::string picture = picture_svg(timeline);
  for (const char* phase : {"forward", "backward", "update"}) {
    const std::string tip = std::string("<title>") + phase + " ";
    const size_t first = picture.find(tip);
    BOOST_TEST(first != std::string::npos, phase);
    BOOST_TEST(picture.find(tip, first + 1) == std::string::npos, phase);
    BOOST_TEST(picture.find(std::string(">") + phase + "</text>") != std::string::npos, phase);  // of the legend
  }
  BOOST_TEST(picture.find("<title>prepare ") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_kind_has_a_colour) {
  const std::string picture = picture_svg(Hand().timeline());
  for (int cls = 0; cls <= static_cast<int>(FusionClass::wait); ++cls) {
    const std::string kind(name(static_cast<FusionClass>(cls)));
    BOOST_TEST(picture.find("." + kind + "{fill:#") != std::string::npos, kind);
  }
}

// A step with a clock around its parts is a step like others; the files lie where the flags say.
BOOST_AUTO_TEST_CASE(a_drawn_run_has_the_same_bits) {
  test::TemporaryDirectory folder;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--per-worker", "5"}, {"--per-worker", "2", "--steps", "23"}}) {
    std::vector<std::string> words = more;
    BOOST_TEST(test::run(folder / "plain", words) == 0);
    words.insert(words.end(), {"--picture", (folder / "a.svg").string(), "--trace", (folder / "a.json").string()});
    BOOST_TEST(test::run(folder / "drawn", words) == 0);
    BOOST_TEST(test::state_sha256(folder / "drawn") == test::state_sha256(folder / "plain"));
    BOOST_TEST(test::trace(folder / "drawn") == test::trace(folder / "plain"));
    BOOST_TEST(test::read_file(folder / "drawn" / "manifest.json").find("a.svg") == std::string::npos);
    const std::string picture = test::read_file(folder / "a.svg");
    BOOST_TEST(picture.starts_with("<svg "));
    BOOST_TEST(picture.find(": step 19, measured") != std::string::npos);
    BOOST_TEST(picture.find("timeline_test.cpp:") == std::string::npos);
    BOOST_TEST(picture.find("small_run.cpp:") != std::string::npos);
    BOOST_TEST(of_phase(test::read_file(folder / "a.json"), "X").size() > 10u);
    for (const char* name : {"plain", "drawn", "a.svg", "a.json"}) fs::remove_all(folder / name);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_is_drawn) {
  test::TemporaryDirectory folder;
  const auto run = [&](const std::string& out, std::vector<std::string> words) {
    words.insert(words.begin(), {"--schedule", "constant"});
    return test::run(folder / out, std::move(words));
  };
  BOOST_TEST(run("whole", {"--steps", "8"}) == 0);
  BOOST_TEST(run("cut", {"--steps", "4"}) == 0);
  BOOST_TEST(test::run({"--resume", (folder / "cut").string(), "--steps", "8", "--picture",
                        (folder / "a.svg").string()}) == 0);
  BOOST_TEST(test::state_sha256(folder / "cut") == test::state_sha256(folder / "whole"));
  BOOST_TEST(test::read_file(folder / "a.svg").find(": step 7, measured") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_told_before_the_run) {
  test::TemporaryDirectory folder;
  for (const char* flag : {"--picture", "--trace"}) {
    BOOST_TEST(test::run(folder / "run", {flag, (folder / "not" / "there").string()}) == 1);
    BOOST_TEST(!fs::exists(folder / "run"));
    BOOST_TEST(test::run(folder / "run", {flag, (folder / "a").string(), "--dry-run"}) == 2);
    BOOST_TEST(!fs::exists(folder / "a"));
  }
}

// Inspect: a step timed here, or predicted: over a network, or for a GPU that is not here.
BOOST_AUTO_TEST_CASE(inspect_draws) {
  test::allow_libraries_their_leaks();
  test::TemporaryDirectory folder;
  const std::string picture = (folder / "a.svg").string(), trace = (folder / "a.json").string();
  const auto inspect = [&](std::vector<std::string> words, int status) {
    fs::remove(picture);
    fs::remove(trace);
    words.insert(words.begin(), {KB_BIN "/inspect", "lenet_mnist", "--minibatch", "8", "--threads", "1", "--picture",
                                 picture, "--trace", trace});
    const ProcessResult result = Process(words).wait();
    BOOST_TEST(result.status == status, result.output);
    BOOST_TEST(fs::exists(picture) == (status == 0));
    return status == 0 ? test::read_file(picture) : result.output;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    BOOST_TEST(text.find(part) != std::string::npos, part + " in\n" + text);
  };
  const auto reductions = [&] {
    size_t count = 0;
    for (const Json& event : of_phase(test::read_file(trace), "X")) count += event.at("cat") == "all_reduce" ? 1 : 0;
    return count;
  };
  has(inspect({}, 0), "lenet_mnist, kn 8 = 1 process x 1 virtual worker x 8: a step, measured");
  BOOST_TEST(reductions() == 0u);
  has(inspect({"--predict"}, 0), "lenet_mnist, minibatch 8: an evaluation, measured");
  const std::vector<std::string> two{"--processes", "2", "--net", "50us,1GB/s"};
  has(inspect({"--processes", "2", "--net", "50us,1GB/s", "--explain-overlap"}, 0), "predicted over 50 us, 1 GB/s");
  BOOST_TEST(reductions() >= 2u);
  has(inspect(two, 2), "--explain-overlap --net");
  has(inspect({"--target", "sm_90"}, 2), "--rates");
  has(inspect({"--rates", "1GB/s,1GFLOP/s"}, 2), "--rates: expected --target");
  has(inspect({"--target", "sm_90", "--rates", "4.8TB/s"}, 2), "--rates: expected h100, h200, or BYTES,OPERATIONS");
  const std::vector<std::string> gpu{"--target", "sm_90", "--rates", "4.8TB/s,60TFLOP/s"};
  has(inspect(gpu, 0), "predicted from 4.8TB/s,60TFLOP/s");
  std::vector<std::string> gpus = gpu;
  gpus.insert(gpus.end(), two.begin(), two.end());
  has(inspect(gpus, 0), "over 50 us, 1 GB/s");
  BOOST_TEST(reductions() >= 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::timeline_test
