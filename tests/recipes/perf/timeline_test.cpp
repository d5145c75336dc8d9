// Tests the timeline of a step, and the picture and the trace that are written from it.
#include "tests/recipes/perf/timeline_cases.h"

#include <boost/test/unit_test.hpp>

namespace kb::timeline_test {

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
  // The box has the lines of all its nodes, each line once.
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
  BOOST_TEST(traced == ids);
  for (const std::string& id : ids) BOOST_TEST(test::contains(picture, "<title>" + id + "  "));
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
  // In each process an arrow leads from the start of every all-reduce over its box to the wait for it.
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
  const Timeline timeline = Predicted().timeline;
  BOOST_REQUIRE(!timeline.boxes.empty());
  for (const Box& part : timeline.boxes) {
    BOOST_TEST(test::contains(part.place, ".cpp:"));
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

// Forward, backward and update follow one another and cover all compute.
BOOST_AUTO_TEST_CASE(a_step_has_a_run_of_every_phase) {
  const Timeline timeline = Predicted().timeline;
  const std::vector<PhaseRun> runs = phase_runs(timeline);
  std::vector<Phase> phases;
  for (const PhaseRun& run : runs) phases.push_back(run.phase);
  if (phases.at(0) == Phase::prepare) phases.erase(phases.begin());  // without a library nothing is prepared
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
    BOOST_TEST(test::contains(picture, std::string(">") + phase + "</text>"));  // the legend names it
  }
  BOOST_TEST(!test::contains(picture, "<title>prepare "));
}

BOOST_AUTO_TEST_CASE(every_kind_has_a_colour) {
  const std::string picture = picture_svg(Hand().timeline());
  for (int cls = 0; cls <= static_cast<int>(FusionClass::wait); ++cls) {
    const std::string kind(name(static_cast<FusionClass>(cls)));
    BOOST_TEST(test::contains(picture, "." + kind + "{fill:#"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::timeline_test
