#include "recipes/report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/enum_table.h"
#include "recipes/report/svg.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

// Lengths in the picture, in pixels.
constexpr double kStepWidth = 1600, kStepLeft = 118, kStepRight = 210, kBandGap = 12;
constexpr double kTitle = 34, kLine = 20, kMemoryHeight = 150, kTableLine = 17;
constexpr double kPhaseHeight = 22, kPhaseGap = 4, kLegendLine = 19;

struct Colour {
  std::string_view kind, fill;
};
// Colours of the kinds of boxes, in the order of the legend; they are dark enough for white letters.
constexpr Colour kColours[] = {
    {"library", "#4e79a7"},     {"pointwise", "#4a8c41"}, {"row_reduce", "#9c7c12"}, {"column_reduce", "#c76b12"},
    {"full_reduce", "#94608a"}, {"window", "#3f8d87"},    {"order", "#7a7a30"},      {"scatter", "#8a6450"},
    {"copy", "#857b77"},        {"carry", "#5b938d"},     {"exchange", "#c05a80"},   {"all_reduce", "#a0467a"},
    {"wait", "#d4464a"},
};
// Colours by Phase; they are light enough for dark letters.
constexpr EnumNames<Phase> kPhaseFills({"#d9d9d9", "#cfe2f6", "#fbdcc0", "#d3ecc9"});
constexpr Phase kPhases[] = {Phase::prepare, Phase::forward, Phase::backward, Phase::update};

std::string_view fill_of(Phase phase) { return kPhaseFills[phase]; }

// Returns the kind with spaces for underscores: "column reduce" for "column_reduce".
std::string words_of_kind(std::string_view kind) {
  std::string words(kind);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// Returns 1, 2 or 5 times a power of ten, such that about `count` steps of this length make up `whole`.
double round_step(double whole, double count) {
  const double power = std::pow(10, std::floor(std::log10(whole / count)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (whole / (factor * power) <= count) return factor * power;
  return 10 * power;
}

// A horizontal strip of the picture, in pixels.
struct Band {
  double top = 0, height = 0;
  double bottom() const { return top + height; }
};

constexpr Lane kLanes[] = {Lane::copy, Lane::compute, Lane::communication};
double height_of(Lane lane) { return lane == Lane::compute ? 300 : lane == Lane::communication ? 110 : 30; }

class Picture {
 public:
  explicit Picture(const Timeline& timeline) : timeline_(timeline) {
    phases_ = {kTitle + kLine * static_cast<double>(timeline.notes.size() + 2), kPhaseHeight};
    double top = phases_.bottom() + kPhaseGap;
    for (const Lane lane : kLanes) {
      if (timeline.of(lane).empty()) continue;
      bands_[lane] = {top, height_of(lane)};
      top = bands_[lane].bottom() + (lane == Lane::compute ? 2 * kBandGap : kBandGap);
    }
    memory_ = {top + kLine + kBandGap, kMemoryHeight};
    table_ = memory_.bottom() + 2.5 * kLine;
  }

  std::string draw() {
    heading();
    phases();
    axis();
    legend();
    for (const auto& [lane, band] : bands_) draw(lane, band);
    links();
    memory();
    peak_table();
    return head() + text_ + "</svg>\n";
  }

 private:
  double x(double milliseconds) const {
    return kStepLeft + (kStepWidth - kStepLeft - kStepRight) * milliseconds / std::max(timeline_.milliseconds, 1e-9);
  }
  double height() const { return table_ + kTableLine * static_cast<double>(timeline_.peak.tensors.size()) + kBandGap; }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void say(double left, double base, std::string_view style, std::string_view what) {
    add(R"(<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>)", left, base, style, xml_text(what));
  }

  std::string head() const {
    std::string styles;
    for (const Colour& colour : kColours) styles += fmt::format(".{}{{fill:{}}}", colour.kind, colour.fill);
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}" xml:space="preserve">
<style>text{{font-family:system-ui,sans-serif;font-size:12px;fill:#222}}.t{{font-size:18px;font-weight:600}}.m{{fill:#555}}
.e{{text-anchor:end;fill:#555}}.c{{text-anchor:middle;fill:#555}}.l{{font-size:10px;fill:#fff;pointer-events:none}}.b{{font-weight:600}}
.p{{text-anchor:middle}}.k{{stroke:#fff;stroke-width:.4}}.g{{stroke:#ddd}}.a{{stroke:#d37295;fill:none;stroke-width:1.1}}{2}</style>
<rect width="100%" height="100%" fill="#fff"/>
)",
        kStepWidth, height(), styles);
  }

  void heading() {
    const double left = kStepLeft - 90, room = kStepWidth - left - kBandGap;
    say(left, kTitle, "t", shortened(timeline_.title, room, 20));  // 20, because bold letters of 18 pixels are wider
    double base = kTitle + kLine + 2;
    say(left, base, "m", shortened(timeline_.device, room, 12));
    for (const std::string& note : timeline_.notes) say(left, base += kLine, "m", shortened(note, room, 12));
  }

  // Draws the labelled strip of phases above the lanes, and their colours as the background of all that is below.
  void phases() {
    for (const PhaseRun& run : phase_runs(timeline_)) {
      const double left = x(run.start), width = x(run.end) - left;
      const std::string time = milliseconds_text(run.end - run.start);
      const std::string phase(name(run.phase));
      add(R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}" fill="{}" fill-opacity=".4"/>)", left,
          phases_.bottom(), width, memory_.bottom() - phases_.bottom(), fill_of(run.phase));
      add(R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}" fill="{}"><title>{} {}</title></rect>)", left,
          phases_.top, width, phases_.height, fill_of(run.phase), phase, time);
      const std::string words = text_width(phase + "  " + time, 12) + 6 <= width ? phase + "  " + time
                                : text_width(phase, 12) + 6 <= width             ? phase
                                                                                 : "";
      if (!words.empty()) say(left + width / 2, phases_.bottom() - 7, "p", words);
    }
  }

  // Draws the phases and the kinds of boxes that occur, with the time that they take, to the right of the lanes.
  void legend() {
    std::map<std::string, double> kinds;
    std::map<Phase, double> phases;
    for (const Box& box : timeline_.boxes) {
      kinds[box.kind] += box.milliseconds;
      if (box.lane == Lane::compute) phases[box.phase] += box.milliseconds;
    }
    double base = phases_.bottom() - 7;
    for (const Phase phase : kPhases)
      if (phases.contains(phase))
        legend_line(base, fmt::format("fill=\"{}\"", fill_of(phase)), name(phase), phases[phase]);
    base += kLegendLine / 2;
    for (const Colour& colour : kColours)
      if (const auto at = kinds.find(std::string(colour.kind)); at != kinds.end())
        legend_line(base, fmt::format("class=\"{}\"", colour.kind), words_of_kind(colour.kind), at->second);
  }

  void legend_line(double& base, const std::string& fill, std::string_view words, double milliseconds) {
    const double left = kStepWidth - kStepRight + 18;
    add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" {}/>)", left, base - 10, fill);
    say(left + 18, base, "m", words);
    say(kStepWidth - kBandGap, base, "e", milliseconds_text(milliseconds));
    base += kLegendLine;
  }

  // Draws the ticks of the axis of time as lines through the lanes and the memory, with their labels.
  void axis() {
    const double top = bands_.empty() ? memory_.top : bands_.begin()->second.top;
    double first = top;
    for (const auto& [lane, band] : bands_) first = std::min(first, band.top);
    const double step = round_step(std::max(timeline_.milliseconds, 1e-9), 14);
    for (int64_t i = 0; static_cast<double>(i) * step <= timeline_.milliseconds * (1 + 1e-9); ++i) {
      const double at = x(static_cast<double>(i) * step);
      add(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" class="g"/>)", at, first, memory_.bottom());
      say(at, memory_.top - kBandGap / 2, "c",
          fmt::format("{:.6g}{}", static_cast<double>(i) * step, i == 0 ? " ms" : ""));
    }
  }

  void draw(Lane lane, const Band& band) {
    say(kStepLeft - kBandGap, band.top + band.height / 2 + 4, "e", name(lane));
    for (const Box* box : timeline_.of(lane)) draw(*box, band);
  }

  void draw(const Box& box, const Band& band) {
    const double left = x(box.start), width = std::max(0.5, x(box.end()) - left);
    add(R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}" class="{}{}"><title>{}</title></rect>)", left,
        band.top, width, band.height, width > 3 ? "k " : "", box.kind, xml_text(tooltip(box)));
    label(box, left, width, band);
  }

  void label(const Box& box, double left, double width, const Band& band) {
    const auto in_lane = [&](const std::string& words) {  // drops "all-reduce", which the lane's name says
      return box.lane == Lane::communication ? words.substr(words.find(' ') + 1) : words;
    };
    const BoxLabel label = box_label(in_lane(box.name), in_lane(box.what), width, band.height);
    if (label.words.empty()) return;
    if (label.upright)
      add(R"-(<text transform="translate({:.1f} {:.1f}) rotate(-90)" class="l">{}</text>)-", left + width / 2 + 3.5,
          band.bottom() - 4, xml_text(label.words));
    else
      add(R"(<text x="{:.1f}" y="{:.1f}" class="l">{}</text>)", left + 3, band.top + band.height / 2 + 3.5,
          xml_text(label.words));
  }

  static std::string tooltip(const Box& box) {
    std::string text = fmt::format("{}  {}\n{} at {:.3f} ms, {}", box.id, box.name, milliseconds_text(box.milliseconds),
                                   box.start, words_of_kind(box.kind));
    if (box.bytes > 0) text += fmt::format("\n{}", bytes_text(box.bytes));
    if (box.bytes > 0 && box.milliseconds > 0)
      text += fmt::format(", {} GB/s", three_digits(1e-6 * static_cast<double>(box.bytes) / box.milliseconds));
    if (box.flops > 0 && box.milliseconds > 0)
      text += fmt::format(", {} GFLOP/s", three_digits(1e-6 * static_cast<double>(box.flops) / box.milliseconds));
    if (!box.writes.empty()) text += fmt::format("\nwrites {}", fmt::join(box.writes, " "));
    return box.place.empty() ? text : text + "\n" + box.place;
  }

  // Draws lines from the step that starts an all-reduce to its box, and from the box to the step that waits for it.
  void links() {
    const auto lane = bands_.find(Lane::communication);
    if (lane == bands_.end()) return;
    const double up = bands_.at(Lane::compute).bottom(), down = lane->second.top;
    std::map<int32_t, const Box*> reductions;
    for (const Box* box : timeline_.of(Lane::communication)) reductions[box->reduction] = box;
    for (const Box* box : timeline_.of(Lane::compute)) {
      if (box->reduction < 0) continue;
      const Box& sum = *reductions.at(box->reduction);
      if (box->kind == "wait")
        link(x(sum.end()), down, x(box->end()), up);
      else
        link(x(box->start), up, x(sum.start), down);
    }
  }
  void link(double x1, double y1, double x2, double y2) {
    add(R"(<path d="M{0:.1f} {1:.1f}C{0:.1f} {3:.1f} {2:.1f} {1:.1f} {2:.1f} {3:.1f}" class="a"/>)", x1, y1, x2, y2);
  }

  double y(int64_t bytes) const {
    return memory_.bottom() - memory_.height * 0.92 * static_cast<double>(bytes) /
                                  static_cast<double>(std::max<int64_t>(1, timeline_.arena_bytes));
  }

  void memory() {
    say(kStepLeft - kBandGap, memory_.top + memory_.height / 2, "e", "live memory");
    std::string path = fmt::format("M{:.1f} {:.1f}", kStepLeft, memory_.bottom());
    for (const LiveBytes& live : timeline_.memory) path += fmt::format("H{:.1f}V{:.1f}", x(live.start), y(live.bytes));
    add(R"(<path d="{}H{:.1f}V{:.1f}Z" fill="#9fbfdf" fill-opacity=".75" stroke="#4e79a7"/>)", path,
        x(timeline_.milliseconds), memory_.bottom());
    const double arena = y(timeline_.arena_bytes);
    add(R"(<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" stroke="#222" stroke-dasharray="5 4"/>)", kStepLeft,
        kStepWidth - kStepRight, arena, arena);
    say(kStepLeft - kBandGap, arena + 4, "e", "arena " + bytes_text(timeline_.arena_bytes));
    say(kStepLeft - kBandGap, memory_.bottom(), "e", "0");
    const double at = x(timeline_.peak_start);
    add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#e15759"/>)", at, y(timeline_.peak.bytes));
  }

  void peak_table() {
    constexpr double kNames = 84, kTypes = 520, kPlaces = 860;  // columns, in pixels from the left end of the lanes
    double base = table_ - kLine;
    say(kStepLeft, base, "b",
        fmt::format("live at the peak, {} at {}:", bytes_text(timeline_.peak.bytes), timeline_.peak_id));
    for (const LiveTensor& tensor : timeline_.peak.tensors) {
      base += kTableLine;
      say(kStepLeft + 70, base, "e", bytes_text(tensor.bytes));
      say(kStepLeft + kNames, base, "m", shortened(tensor.made_by.text(), kTypes - kNames - kBandGap, 12));
      say(kStepLeft + kTypes, base, "m", shortened(tensor.type, kPlaces - kTypes - kBandGap, 12));
      say(kStepLeft + kPlaces, base, "m", tensor.place);
    }
  }

  const Timeline& timeline_;
  std::map<Lane, Band> bands_;
  Band phases_, memory_;
  double table_ = 0;  // y of the baseline of the table's first line
  std::string text_;
};

}  // namespace

std::string picture_svg(const Timeline& timeline) { return Picture(timeline).draw(); }

}  // namespace kb
