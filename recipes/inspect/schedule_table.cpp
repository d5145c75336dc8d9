#include "recipes/inspect/schedule_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/describe_steps.h"
#include "recipes/perf/memory_answer.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

constexpr size_t kPeakRows = 10;

// Widths in characters, with the gap before each: columns that narrow tables leave out, columns that all have, and
// words.
constexpr int kClassColumn = 15, kPlaceColumn = 24, kFirstColumns = 33, kLeastText = 40, kWideText = 60;
constexpr int kWithPlaces = 110;  // width above which peak_lines() has the model's lines

std::string without_end_blanks(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

struct ScheduleColumns {
  explicit ScheduleColumns(int columns)
      : place(columns >= kFirstColumns + kLeastText + kPlaceColumn),
        cls(columns >= kFirstColumns + kWideText + kPlaceColumn + kClassColumn),
        text(static_cast<size_t>(
            std::max(kLeastText, columns - kFirstColumns - (place ? kPlaceColumn : 0) - (cls ? kClassColumn : 0)))) {}
  bool place, cls;
  size_t text;  // width of the words about a step

  // Returns a line of the table. The last two columns may be left out.
  std::string line(const std::string& numbers, const std::string& what, const std::string& where,
                   std::string_view of) const {
    std::string line = fmt::format("{}  {:<{}}", numbers, what, text);
    if (place) line += fmt::format("  {:<{}}", where, kPlaceColumn - 2);
    if (cls) line += fmt::format("  {}", of);
    return without_end_blanks(line) + "\n";
  }
};

std::string operations_text(int64_t count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  return count == 0 ? "-" : with_unit(static_cast<double>(count), kUnits);
}

std::string schedule_lines(const Schedule& schedule, const ScheduleColumns& columns) {
  if (schedule.steps.empty()) return "";
  std::string text = fmt::format("\n{}\n", schedule.name);
  text += columns.line(fmt::format("{:>4} {:<8} {:>9} {:>7}", "step", "phase", "bytes", "FLOPs"), "what it does",
                       "line of the model", "class");
  const std::vector<StepDescription> words = describe_steps(schedule);
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    text += columns.line(fmt::format("{:>4} {:<8} {:>9} {:>7}", s, name(words[s].phase), bytes_text(step.bytes),
                                     operations_text(step.flops)),
                         words[s].text(columns.text), step_place(schedule, step), name(step.cls));
  }
  return text;
}

}  // namespace

std::string schedule_lines(const Program& program, int columns) {
  std::string text;
  for (const Schedule* schedule : program.all()) text += schedule_lines(*schedule, ScheduleColumns(columns));
  return text;
}

std::string peak_lines(const Program& program, int columns) {
  const Peak peak = memory_peak(program, kPeakRows);
  std::string text = fmt::format("\nlargest of {} live at step {}\n", bytes_text(peak.bytes), peak.step);
  size_t types = 0;
  for (const LiveTensor& tensor : peak.tensors) types = std::max(types, tensor.type.size());
  const size_t numbers = 13 + types + (columns > kWithPlaces ? kPlaceColumn : 0);
  const size_t room = std::max<size_t>(kLeastText, columns > static_cast<int>(numbers) ? columns - numbers : 0);
  for (const LiveTensor& tensor : peak.tensors) {
    const std::string place =
        columns > kWithPlaces ? fmt::format("{:<{}}  ", tensor.place, kPlaceColumn - 2) : std::string();
    text += fmt::format("{:>9}  {:<{}}  {}{}\n", bytes_text(tensor.bytes), tensor.type, types, place,
                        tensor.made_by.text(room));
  }
  return text;
}

std::string step_place(const Schedule& schedule, const Step& step) {
  std::string first;
  for (const int32_t n : step.nodes) {
    const Node& node = schedule.graph->nodes[static_cast<size_t>(n)];
    const std::string place = schedule.graph->place(node);
    if (!place.empty() && info(node.op).cls != OpClass::leaf) return place;
    if (first.empty()) first = place;
  }
  return first;
}

}  // namespace kb
