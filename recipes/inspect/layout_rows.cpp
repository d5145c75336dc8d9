#include "recipes/inspect/layout_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr double kClearly = 1.02, kWorthTelling = 1.10;

LayoutTimes::value_type fastest(const LayoutTimes& times) {
  ensure(!times.empty(), "layouts: nothing was measured");
  return *std::min_element(times.begin(), times.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

std::string words(int64_t block) { return block == 0 ? "NHWC" : fmt::format("blocks of {}", block); }

// Returns the beginning of every row of `isa`.
std::string row_of(const std::string& isa) { return fmt::format("    {{\"{}\", DType::", isa); }

void put(std::vector<std::string>& rows, const std::string& isa, const LayoutChoice& choice) {
  const std::string isa_row = row_of(isa), row = "    " + layout_row(isa, choice);
  const std::string same = fmt::format("{}{},", isa_row, name(choice.dtype));
  const auto starts = [](const std::string& start) {
    return [&start](const std::string& line) { return line.starts_with(start); };
  };
  const auto old = std::find_if(rows.begin(), rows.end(), starts(same));
  if (old != rows.end()) {
    *old = row;
    return;
  }
  const auto last = std::find_if(rows.rbegin(), rows.rend(), starts(isa_row));
  rows.insert(last == rows.rend() ? rows.end() : last.base(), row);
}

}  // namespace

int64_t choose_block(const LayoutTimes& times, int64_t committed) {
  const auto [block, least] = fastest(times);
  const auto now = times.find(committed);
  return now != times.end() && now->second <= kClearly * least ? committed : block;
}

std::string faster_row_note(const std::string& library_isa, DType dtype, const LayoutTimes& times, int64_t committed) {
  const auto [block, least] = fastest(times);
  const double now = times.at(committed);
  if (now <= kWorthTelling * least) return "";
  return fmt::format(
      "NOTE: these convolutions take {:.1f} ms in {} and {:.1f} ms in {}, which the table has for {}: on this machine "
      "the row {} would be faster by {:.0f} %; ./run tune measures whether for ResNet-50 too",
      least, words(block), now, words(committed), library_isa, layout_row(library_isa, {dtype, block}),
      100 * (now / least - 1));
}

std::string layout_row(const std::string& isa, const LayoutChoice& choice) {
  return fmt::format("{{\"{}\", DType::{}, {}}},", isa, name(choice.dtype), choice.block);
}

std::string with_layout_rows(const std::string& source, const std::string& isa,
                             const std::vector<LayoutChoice>& choices) {
  constexpr const char* kOpening = "kLayouts[] = {\n";
  const size_t opening = source.find(kOpening);
  const size_t begin = opening == std::string::npos ? opening : opening + std::string(kOpening).size();
  const size_t end = begin == std::string::npos ? begin : source.find("};", begin);
  if (end == std::string::npos) throw Error("there is no table 'kLayouts[] = {' with its rows on lines of their own");
  std::vector<std::string> rows = split_at(source.substr(begin, end - begin), '\n');
  for (const LayoutChoice& choice : choices) put(rows, isa, choice);
  std::string text = source.substr(0, begin);
  for (const std::string& row : rows) text += row + "\n";
  return text + source.substr(end);
}

}  // namespace kb
