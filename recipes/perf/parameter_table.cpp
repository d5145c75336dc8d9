#include "recipes/perf/parameter_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {
namespace {

// "he_normal(fan_out): N(0, 0.0589^2)": the rule, where a layer noted it, and the numbers that it came to.
std::string initial_text(const Init& init) {
  const std::string rule = init.rule.empty() ? "" : fmt::format("{}: ", init.rule);
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

}  // namespace

// From the model's input to its loss: the space begins with the gradients that are ready first, those of the end.
std::string parameter_lines(const ParameterSpace& space) {
  size_t name_width = 9, shape_width = 5;
  int64_t elements = 0;
  for (const Segment& segment : space.segments) {
    name_width = std::max(name_width, segment.name.size());
    shape_width = std::max(shape_width, shape_text(segment.type).size());
    elements += segment.length;
  }
  const auto line = [&](std::string_view name, std::string_view shape, std::string_view role, const auto& count,
                        std::string_view initial) {
    return fmt::format("{:<{}}  {:<{}}  {:<10}  {:>9}  {}\n", name, name_width, shape, shape_width, role, count,
                       initial);
  };
  std::string text = line("parameter", "shape", "role", "elements", "initial values");
  for (auto segment = space.segments.rbegin(); segment != space.segments.rend(); ++segment)
    text += line(segment->name, shape_text(segment->type), name(segment->role), segment->length,
                 initial_text(segment->init));
  return text + fmt::format("{} parameters of {} elements\n", space.segments.size(), elements);
}

}  // namespace kb
