#include "recipes/inspect/parameter_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace kb {
namespace {

// Columns that a narrow table leaves out, in this order: the rule of the initial values, the role, the values.
struct ParameterColumns {
  bool has_rule = true, has_role = true, has_values = true;
};
constexpr ParameterColumns kFromWideToNarrow[] = {
    {}, {.has_rule = false}, {.has_rule = false, .has_role = false}, {false, false, false}};

// Returns "he_normal(fan_out): N(0, 0.0589^2)": the rule, if a layer noted it, and the numbers that followed from it.
std::string initial_text(const Init& init, bool has_rule) {
  const std::string rule = init.rule.empty() || !has_rule ? "" : fmt::format("{}: ", init.rule);
  switch (init.kind) {
    case InitKind::constant:
      return fmt::format("{}{:.3g}", rule, init.a);
    case InitKind::normal:
      return fmt::format("{}N({:.3g}, {:.3g}^2)", rule, init.a, init.b);
    case InitKind::uniform:
      return fmt::format("{}U({:.3g}, {:.3g})", rule, init.a, init.b);
    case InitKind::runs:
      return "values of its own";
  }
  throw InternalError("an initial value of no kind");
}

// Returns the rows from the model's input to its loss. The space is in the reverse order, that in which gradients are
// ready.
std::vector<std::string> parameter_rows(const ParameterSpace& space, const ParameterColumns& columns) {
  size_t name_width = 9, shape_width = 5;
  for (const Segment& segment : space.segments) {
    name_width = std::max(name_width, segment.name.size());
    shape_width = std::max(shape_width, shape_text(segment.type).size());
  }
  const bool has_rates = std::ranges::any_of(space.segments, [](const Segment& segment) { return segment.rate != 1; });
  const auto row = [&](std::string_view name, std::string_view shape, std::string_view role, const auto& count,
                       const std::string& rate, const std::string& initial) {
    return fmt::format("{:<{}}  {:<{}}{}  {:>9}{}{}", name, name_width, shape, shape_width,
                       columns.has_role ? fmt::format("  {:<10}", role) : "", count,
                       has_rates ? fmt::format("  {:>6}", rate) : "", columns.has_values ? "  " + initial : "");
  };
  std::vector<std::string> rows = {row("parameter", "shape", "role", "elements", "rate", "initial values")};
  for (auto segment = space.segments.rbegin(); segment != space.segments.rend(); ++segment)
    rows.push_back(row(segment->name, shape_text(segment->type), name(segment->role), segment->length,
                       fmt::format("x {:.3g}", segment->rate), initial_text(segment->init, columns.has_rule)));
  return rows;
}

size_t widest(const std::vector<std::string>& rows) {
  size_t columns = 0;
  for (const std::string& row : rows) columns = std::max(columns, row.size());
  return columns;
}

}  // namespace

std::string parameter_lines(const ParameterSpace& space, int columns) {
  std::vector<std::string> rows;
  for (const ParameterColumns& wanted : kFromWideToNarrow) {
    rows = parameter_rows(space, wanted);
    if (widest(rows) <= static_cast<size_t>(columns)) break;
  }
  int64_t elements = 0;
  for (const Segment& segment : space.segments) elements += segment.length;
  return fmt::format("{}\n{} parameters of {} elements\n", fmt::join(rows, "\n"), space.segments.size(), elements);
}

}  // namespace kb
