// Schedules as text.
#include <fmt/format.h>

#include "compiler/schedule.h"

namespace kb {

std::string_view name(FusionClass cls) {
  constexpr std::string_view names[] = {"pointwise", "row_reduce", "column_reduce", "full_reduce", "window", "scatter",
                                        "library",   "copy",       "carry",         "exchange",    "wait"};
  return names[static_cast<size_t>(cls)];
}

namespace {

std::string buffer_line(const Schedule& schedule, size_t b) {
  const Buffer& buffer = schedule.buffers[b];
  constexpr std::string_view kinds[] = {"arena", "store", "input", "output"};
  std::string line =
      fmt::format("  b{} {} {} {} bytes", b, kinds[static_cast<size_t>(buffer.kind)], buffer.name, buffer.bytes);
  if (buffer.kind == BufferKind::arena || buffer.kind == BufferKind::output)
    line += fmt::format(" at {} live {}..{}", buffer.offset, buffer.first, buffer.last);
  return line + "\n";
}

std::string view_text(View view) {
  return view.offset == 0 ? fmt::format("b{}", view.buffer) : fmt::format("b{}+{}", view.buffer, view.offset);
}

std::string step_line(const Schedule& schedule, size_t s) {
  const Step& step = schedule.steps[s];
  std::string line = fmt::format("  s{} {} \"{}\"", s, name(step.cls), step.name);
  if (step.kernel >= 0) line += " " + schedule.kernels[static_cast<size_t>(step.kernel)].name;
  for (size_t i = 0; i < step.operands.size(); ++i)
    line += (i == 0 ? " (" : static_cast<int32_t>(i) == step.inputs ? " -> " : ", ") + view_text(step.operands[i]);
  line += ")";
  if (step.scratch.buffer >= 0) line += " scratch " + view_text(step.scratch);
  if (step.epilogue.bias.valid()) line += " +bias";
  if (step.epilogue.relu) line += " +relu";
  if (!step.arguments.empty()) line += fmt::format(" args [{}]", fmt::join(step.arguments, ","));
  if (!step.tiles.empty()) line += fmt::format(" tiles [{}]", fmt::join(step.tiles, ","));
  return line + "\n";
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("schedule {} arena {} bound {}\n", schedule.name, schedule.arena_bytes,
                                 schedule.liveness_bound_bytes);
  for (size_t b = 0; b < schedule.buffers.size(); ++b) text += buffer_line(schedule, b);
  for (size_t s = 0; s < schedule.steps.size(); ++s) text += step_line(schedule, s);
  return text;
}

}  // namespace kb
