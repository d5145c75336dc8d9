#include "recipes/perf/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/plan_memory.h"
#include "graph/enum_table.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

constexpr size_t kPlaces = 4;       // source lines that are listed; more are only counted
constexpr size_t kPeakTensors = 8;  // tensors listed at the peak of the memory

void add_new(std::vector<std::string>& places, const std::string& place) {
  if (!place.empty() && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
}

// The range of bytes of a buffer that an operand covers.
struct Part {
  int32_t buffer;
  int64_t begin, end;
  bool meets(const Part& other) const { return buffer == other.buffer && begin < other.end && other.begin < end; }
};

Part part(const Step& step, size_t operand) {
  const View view = step.operands[operand];
  return {view.buffer, view.offset, view.offset + step.extents[operand]};
}

bool writes(const Step& step, const Part& read) {
  for (size_t o = static_cast<size_t>(step.inputs); o < step.operands.size(); ++o)
    if (part(step, o).meets(read)) return true;
  return false;
}

// Returns the user's source lines of every step. A step that no line asks for, such as a sum over workers or a copy
// into a buffer, has the lines of the steps whose results it hands on.
std::vector<std::vector<std::string>> places_of(const Schedule& schedule) {
  std::vector<std::vector<std::string>> places(schedule.steps.size());
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    for (const int32_t n : step.nodes)
      add_new(places[s], schedule.graph->place(schedule.graph->nodes.at(static_cast<size_t>(n))));
    if (!places[s].empty()) continue;
    for (size_t before = 0; before < s; ++before)
      for (size_t o = 0; o < step.operands.size(); ++o) {
        if (!writes(schedule.steps[before], part(step, o))) continue;
        for (const std::string& place : places[before]) add_new(places[s], place);
      }
  }
  return places;
}

std::string places_text(const std::vector<std::string>& places) {
  const size_t shown = std::min(places.size(), kPlaces);
  const std::string text =
      fmt::format("{}", fmt::join(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return places.size() > shown ? fmt::format("{} and {} more", text, places.size() - shown) : text;
}

std::vector<std::string> written_buffers(const Step& step) {
  std::vector<std::string> buffers;
  for (size_t o = static_cast<size_t>(step.inputs); o < step.operands.size(); ++o)
    add_new(buffers, fmt::format("b{}", step.operands[o].buffer));
  return buffers;
}

Box box_of(const Schedule& schedule, size_t s, const StepTime& time, const StepDescription& words,
           const std::vector<std::string>& places) {
  const Step& step = schedule.steps[s];
  return {.id = fmt::format("{}.{}", schedule.name, s),
          .lane = Lane::compute,
          .start = time.start,
          .milliseconds = time.milliseconds,
          .name = words.text(),
          .what = words.what,
          .kind = std::string(name(step.cls)),
          .place = places_text(places),
          .bytes = step.bytes,
          .flops = step.flops,
          .writes = written_buffers(step),
          .reduction = step.reduction(),
          .phase = words.phase,
          .step = step.name};
}

// Returns the box of the all-reduce that the step of the box `starts` begins and the step timed by `wait` awaits.
Box reduction_box(const Schedule& schedule, const Box& starts, const StepTime& wait,
                  const ReductionName& reduction_name) {
  Box box = starts;
  box.id = fmt::format("{}.all_reduce.{}", schedule.name, starts.reduction);
  box.lane = Lane::communication;
  box.start = wait.reduction_start;
  box.milliseconds = wait.reduction_end - wait.reduction_start;
  box.what = fmt::format("all-reduce {}", starts.reduction);
  box.name = fmt::format("{}: {}", box.what, reduction_name(starts.reduction));
  box.kind = "all_reduce";
  return box;
}

void add_program(Timeline& timeline, const Schedule& schedule, std::span<const StepTime> times,
                 const ReductionName& reduction_name) {
  const std::vector<std::vector<std::string>> places = places_of(schedule);
  const std::vector<StepDescription> words = describe_steps(schedule);
  const std::vector<int64_t> live = live_bytes(schedule);
  std::vector<Box> starts;
  for (size_t s = 0; s < times.size(); ++s) {
    const Step& step = schedule.steps[s];
    const Box box = box_of(schedule, s, times[s], words[s], places[s]);
    timeline.boxes.push_back(box);
    timeline.memory.push_back({box.start, live[s]});
    if (step.cls == FusionClass::exchange) starts.push_back(box);
    if (step.cls != FusionClass::wait) continue;
    const auto at =
        std::find_if(starts.begin(), starts.end(), [&](const Box& one) { return one.reduction == step.reduction(); });
    ensure(at != starts.end(), "a wait stands before what it waits for");
    timeline.boxes.push_back(reduction_box(schedule, *at, times[s], reduction_name));
  }
  if (const Peak peak = memory_peak(schedule, kPeakTensors); peak.bytes > timeline.peak.bytes) {
    timeline.peak = peak;
    timeline.peak_id = fmt::format("{}.{}", schedule.name, peak.step);
    timeline.peak_start = times[peak.step].start;
  }
  timeline.arena_bytes = std::max(timeline.arena_bytes, schedule.arena_bytes);
}

}  // namespace

std::string_view name(Lane lane) {
  constexpr EnumNames<Lane> kNames({"compute", "communication", "copy"});
  return kNames[lane];
}

std::string milliseconds_text(double milliseconds) {
  if (milliseconds >= kRoundsToThousand) return three_digits(1e-3 * milliseconds) + " s";
  return milliseconds >= 0.1 ? fmt::format("{:.3g} ms", milliseconds) : fmt::format("{:.3g} us", 1e3 * milliseconds);
}

std::vector<const Box*> Timeline::of(Lane lane) const {
  std::vector<const Box*> result;
  for (const Box& box : boxes)
    if (box.lane == lane) result.push_back(&box);
  return result;
}

std::vector<PhaseRun> phase_runs(const Timeline& timeline) {
  std::vector<PhaseRun> runs;
  for (const Box* box : timeline.of(Lane::compute)) {
    if (runs.empty() || runs.back().phase != box->phase) runs.push_back({box->phase, box->start, box->end()});
    runs.back().end = box->end();
  }
  return runs;
}

Timeline make_timeline(std::span<const Schedule* const> programs, const Profile& profile,
                       const ReductionName& reduction_name) {
  Timeline timeline;
  std::span<const StepTime> rest(profile.steps);
  for (const Schedule* schedule : programs) {
    const size_t steps = schedule->steps.size();
    ensure(steps <= rest.size(), "make_timeline: a time for every step");
    add_program(timeline, *schedule, rest.first(steps), reduction_name);
    rest = rest.subspan(steps);
  }
  ensure(rest.empty(), "make_timeline: a step for every time");
  for (const CopyTime& copy : profile.copies)
    timeline.boxes.push_back({.id = "copy." + copy.name,
                              .lane = Lane::copy,
                              .start = copy.start,
                              .milliseconds = copy.milliseconds,
                              .name = copy.name,
                              .what = copy.name,
                              .kind = "copy",
                              .place = "",
                              .bytes = copy.bytes,
                              .writes = {}});
  std::stable_sort(timeline.boxes.begin(), timeline.boxes.end(),
                   [](const Box& a, const Box& b) { return std::pair(a.lane, a.start) < std::pair(b.lane, b.start); });
  for (const Box& box : timeline.boxes) timeline.milliseconds = std::max(timeline.milliseconds, box.end());
  return timeline;
}

}  // namespace kb
