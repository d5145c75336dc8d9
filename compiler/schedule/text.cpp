// to_text() of a schedule: one line for every buffer and every step.
#include <fmt/format.h>

#include "compiler/schedule.h"

namespace kb {

namespace {

std::string buffer_line(const Schedule& schedule, size_t b) {
  const Buffer& buffer = schedule.buffers[b];
  constexpr std::string_view kinds[] = {"arena", "store", "input", "output"};
  std::string line =
      fmt::format("  b{} {} {} {} bytes", b, kinds[static_cast<size_t>(buffer.kind)], buffer.name, buffer.bytes);
  if (buffer.is_planned()) line += fmt::format(" at {} live {}..{}", buffer.offset, buffer.first, buffer.last);
  return line + "\n";
}

std::string view_text(View view) {
  return view.offset == 0 ? fmt::format("b{}", view.buffer) : fmt::format("b{}+{}", view.buffer, view.offset);
}

std::string numbers_text(std::string_view name, const std::vector<int64_t>& numbers) {
  return numbers.empty() ? "" : fmt::format(" {} [{}]", name, fmt::join(numbers, ","));
}

std::string work_text(const KernelLaunch& launch) {
  return numbers_text("args", launch.arguments) + numbers_text("tiles", launch.tiles);
}

std::string work_text(const LibraryCall& call) {
  return (call.scratch.buffer >= 0 ? " scratch " + view_text(call.scratch) : "") +
         (call.epilogue.bias.valid() ? " +bias" : "") + (call.epilogue.relu ? " +relu" : "");
}

std::string work_text(const Copies& copies) {
  std::vector<int64_t> numbers;
  for (const Copies::Part& part : copies.parts) numbers.insert(numbers.end(), {part.to, part.bytes, part.from});
  return numbers_text("args", numbers);
}

std::string work_text(const ExchangeStart&) { return ""; }
std::string work_text(const ExchangeWait&) { return ""; }

std::string step_line(const Schedule& schedule, size_t s) {
  const Step& step = schedule.steps[s];
  std::string line = fmt::format("  s{} {} \"{}\"", s, name(step.cls), step.name);
  if (const ir::Kernel* kernel = schedule.kernel_of(step)) line += " " + kernel->name;
  for (size_t i = 0; i < step.operands.size(); ++i)
    line += (i == 0 ? " (" : static_cast<int32_t>(i) == step.inputs ? " -> " : ", ") + view_text(step.operands[i]);
  return line + ")" + std::visit([](const auto& work) { return work_text(work); }, step.work) + "\n";
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
