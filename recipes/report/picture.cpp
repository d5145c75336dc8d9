#include "recipes/report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "recipes/report/svg.h"

namespace kb {
namespace {

// Pixels.
constexpr double kStepWidth = 1600, kStepLeft = 118, kStepRight = 28, kBandGap = 12;
constexpr double kTitle = 34, kLine = 20, kMemoryHeight = 150, kTableLine = 17;
constexpr double kLeastLabel = 10;    // narrower boxes have none
constexpr double kLeastUpright = 60;  // lower boxes have none that stands upright
constexpr double kLetter = 5.6;

struct Colour {
  std::string_view kind, fill;
};
// In the order of the legend.
constexpr Colour kColours[] = {
    {"library", "#4e79a7"},     {"pointwise", "#59a14f"}, {"row_reduce", "#c9a227"}, {"column_reduce", "#f28e2b"},
    {"full_reduce", "#b07aa1"}, {"window", "#76b7b2"},    {"scatter", "#9c755f"},    {"copy", "#bab0ac"},
    {"carry", "#86bcb6"},       {"exchange", "#d37295"},  {"all_reduce", "#a0467a"}, {"wait", "#e15759"},
};

std::string box_time(double milliseconds) {
  return milliseconds >= 0.1 ? fmt::format("{:.3g} ms", milliseconds) : fmt::format("{:.3g} us", 1e3 * milliseconds);
}

// 1, 2 or 5 times a power of ten, so that about `count` of them make `whole`.
double round_step(double whole, double count) {
  const double power = std::pow(10, std::floor(std::log10(whole / count)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (whole / (factor * power) <= count) return factor * power;
  return 10 * power;
}

struct Band {
  double top = 0, height = 0;
  double bottom() const { return top + height; }
};

constexpr Lane kLanes[] = {Lane::copy, Lane::compute, Lane::communication};
double height_of(Lane lane) { return lane == Lane::compute ? 300 : lane == Lane::communication ? 110 : 30; }

class Picture {
 public:
  explicit Picture(const Timeline& timeline) : timeline_(timeline) {
    double top = kTitle + kLine * static_cast<double>(timeline.notes.size() + 3);
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
    legend();
    axis();
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
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}">
<style>text{{font-family:system-ui,sans-serif;font-size:12px;fill:#222}}.t{{font-size:18px;font-weight:600}}.m{{fill:#555}}
.e{{text-anchor:end;fill:#555}}.c{{text-anchor:middle;fill:#555}}.l{{font-size:10px;fill:#fff;pointer-events:none}}.b{{font-weight:600}}
.k{{stroke:#fff;stroke-width:.4}}.g{{stroke:#ddd}}.a{{stroke:#d37295;fill:none;stroke-width:1.1}}{2}</style>
<rect width="100%" height="100%" fill="#fff"/>
)",
        kStepWidth, height(), styles);
  }

  void heading() {
    say(kStepLeft - 90, kTitle, "t", timeline_.title);
    double base = kTitle + kLine + 2;
    say(kStepLeft - 90, base, "m", timeline_.device);
    for (const std::string& note : timeline_.notes) say(kStepLeft - 90, base += kLine, "m", note);
  }

  // The kinds there are, with what they take of the time.
  void legend() {
    std::map<std::string, double> sums;
    for (const Box& box : timeline_.boxes) sums[box.kind] += box.milliseconds;
    const double base = kTitle + kLine * static_cast<double>(timeline_.notes.size() + 2) + 4;
    double left = kStepLeft - 90;
    for (const Colour& colour : kColours) {
      const auto at = sums.find(std::string(colour.kind));
      if (at == sums.end()) continue;
      const std::string words = fmt::format("{} {}", at->first, box_time(at->second));
      add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" class="{}"/>)", left, base - 10, colour.kind);
      say(left + 17, base, "m", words);
      left += 17 + 7 * static_cast<double>(words.size()) + 14;
    }
  }

  // Through the lanes and the memory.
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
    if (width >= kLeastLabel) label(box, left, width, band);
  }

  // Along the box where it fits, upright where only that does.
  void label(const Box& box, double left, double width, const Band& band) {
    const std::string what =  // the lane says that it is an all-reduce
        box.lane == Lane::communication ? box.name.substr(box.name.find(' ') + 1) : box.name;
    const std::string all = box.place.empty() ? what : what + "  " + box.place.substr(0, box.place.find(','));
    const double length = kLetter * static_cast<double>(all.size());
    if (length + 6 <= width || band.height <= std::max(width, kLeastUpright)) {
      const std::string words = shortened(all, width - 6);
      if (!words.empty())
        add(R"(<text x="{:.1f}" y="{:.1f}" class="l">{}</text>)", left + 3, band.top + band.height / 2 + 3.5,
            xml_text(words));
      return;
    }
    add(R"-(<text transform="translate({:.1f} {:.1f}) rotate(-90)" class="l">{}</text>)-", left + width / 2 + 3.5,
        band.bottom() - 4, xml_text(shortened(all, band.height - 8)));
  }

  static std::string shortened(const std::string& words, double room) {
    const auto letters = static_cast<size_t>(std::max(0.0, room / kLetter));
    if (words.size() <= letters) return words;
    if (letters < 4) return "";
    size_t end = letters - 1;
    while (end > 0 && (words[end] & 0xC0) == 0x80) --end;  // not inside a letter of UTF-8
    return words.substr(0, end) + "…";
  }

  static std::string tooltip(const Box& box) {
    std::string text =
        fmt::format("{}  {}\n{} at {:.3f} ms, {}", box.id, box.name, box_time(box.milliseconds), box.start, box.kind);
    if (box.bytes > 0) text += fmt::format("\n{}", bytes_text(box.bytes));
    if (box.bytes > 0 && box.milliseconds > 0)
      text += fmt::format(", {:.3g} GB/s", 1e-6 * static_cast<double>(box.bytes) / box.milliseconds);
    if (box.flops > 0 && box.milliseconds > 0)
      text += fmt::format(", {:.3g} GFLOP/s", 1e-6 * static_cast<double>(box.flops) / box.milliseconds);
    if (!box.writes.empty()) text += fmt::format("\nwrites {}", fmt::join(box.writes, " "));
    return box.place.empty() ? text : text + "\n" + box.place;
  }

  // From where an all-reduce is started to its box, and from its end to where it is waited for.
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
    add(R"(<path d="{}H{:.1f}V{:.1f}Z" fill="#c6dbef" stroke="#4e79a7"/>)", path, x(timeline_.milliseconds),
        memory_.bottom());
    const double arena = y(timeline_.arena_bytes);
    add(R"(<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" stroke="#222" stroke-dasharray="5 4"/>)", kStepLeft,
        kStepWidth - kStepRight, arena, arena);
    say(kStepLeft - kBandGap, arena + 4, "e", "arena " + bytes_text(timeline_.arena_bytes));
    say(kStepLeft - kBandGap, memory_.bottom(), "e", "0");
    const double at = x(timeline_.peak_start);
    add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#e15759"/>)", at, y(timeline_.peak.bytes));
  }

  void peak_table() {
    double base = table_ - kLine;
    say(kStepLeft, base, "b",
        fmt::format("live at the peak, {} at {}:", bytes_text(timeline_.peak.bytes), timeline_.peak_id));
    for (const LiveTensor& tensor : timeline_.peak.tensors) {
      base += kTableLine;
      say(kStepLeft + 70, base, "e", bytes_text(tensor.bytes));
      say(kStepLeft + 84, base, "m", tensor.place);
      say(kStepLeft + 250, base, "m", fmt::format("{} {}", tensor.name, tensor.type));
    }
  }

  const Timeline& timeline_;
  std::map<Lane, Band> bands_;
  Band memory_;
  double table_ = 0;  // the base of its first line
  std::string text_;
};

}  // namespace

std::string picture_svg(const Timeline& timeline) { return Picture(timeline).draw(); }

}  // namespace kb
