#include <cmath>

#include "recipes/report/picture.h"
#include "runtime/json.h"

namespace kb {
namespace {

// Returns microseconds, the unit of the trace format, rounded to a nanosecond.
double microseconds(double milliseconds) { return std::round(1e6 * milliseconds) / 1e3; }

class Events {
 public:
  explicit Events(int64_t rank) : rank_(rank) {}

  void name_process(const std::string& name) { add(metadata("process_name", 0, {{"name", name}})); }
  void name_lane(Lane lane) {
    add(metadata("thread_name", tid(lane), {{"name", name(lane)}}));
    add(metadata("thread_sort_index", tid(lane), {{"sort_index", tid(lane)}}));
  }

  void box(const Box& box) {
    Json args = {
        {"id", box.id}, {"place", box.place}, {"bytes", box.bytes}, {"flops", box.flops}, {"writes", box.writes}};
    if (box.lane == Lane::compute) {
      args["phase"] = name(box.phase);
      args["step"] = box.step;
    }
    add({{"ph", "X"},
         {"name", box.name},
         {"cat", box.kind},
         {"pid", rank_},
         {"tid", tid(box.lane)},
         {"ts", microseconds(box.start)},
         {"dur", microseconds(box.milliseconds)},
         {"args", std::move(args)}});
  }

  // Adds one end or the middle of an arrow that leads from the step that starts an all-reduce, over it, to the step
  // that waits for it. `phase` is "s" at the start, "t" in the middle, "f" at the end.
  void arrow(const char* phase, const Box& box) {
    Json event = {
        {"ph", phase},  {"name", "all_reduce"}, {"cat", "all_reduce"},          {"id", rank_ * kArrows + box.reduction},
        {"pid", rank_}, {"tid", tid(box.lane)}, {"ts", microseconds(box.start)}};
    if (*phase == 'f') event["bp"] = "e";
    add(event);
  }

  void live(const LiveBytes& memory) {
    add({{"ph", "C"},
         {"name", "live memory"},
         {"pid", rank_},
         {"ts", microseconds(memory.start)},
         {"args", {{"bytes", memory.bytes}}}});
  }

  const std::string& text() const { return text_; }

 private:
  static constexpr int64_t kArrows = 1'000'000;  // most all-reduces of one process, so that their ids are unique

  static int64_t tid(Lane lane) { return static_cast<int64_t>(lane); }
  Json metadata(const char* what, int64_t thread, Json args) const {
    return {{"ph", "M"}, {"name", what}, {"pid", rank_}, {"tid", thread}, {"args", std::move(args)}};
  }
  void add(const Json& event) { text_ += (text_.empty() ? "" : ",\n") + event.dump(); }

  int64_t rank_;
  std::string text_;
};

}  // namespace

std::string trace_events(const Timeline& timeline, int64_t rank) {
  Events events(rank);
  events.name_process(timeline.device);
  for (const Lane lane : {Lane::compute, Lane::communication, Lane::copy})
    if (!timeline.of(lane).empty()) events.name_lane(lane);
  for (const Box& box : timeline.boxes) {
    events.box(box);
    if (box.reduction < 0) continue;
    events.arrow(box.lane == Lane::communication ? "t" : box.kind == name(FusionClass::wait) ? "f" : "s", box);
  }
  int64_t last = -1;
  for (const LiveBytes& memory : timeline.memory)
    if (memory.bytes != std::exchange(last, memory.bytes)) events.live(memory);
  return events.text();
}

std::string trace_json(const std::vector<std::string>& events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
  return text + "\n]}\n";
}

}  // namespace kb
