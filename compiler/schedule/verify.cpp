// verify() proves of a planned schedule that every step's work is of its class's kind, that no two live buffers
// overlap, that every read comes after a write, that operands lie inside their buffers, and that no step touches what
// an exchange works on before the step that waits for it.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule.h"

namespace kb {
namespace {

[[noreturn]] void fail(const Schedule& schedule, std::string what) {
  throw InternalError(fmt::format("schedule {}: {}\n{}", schedule.name, what, to_text(schedule)));
}

bool lives(const Buffer& buffer, int32_t step) { return buffer.first <= step && step <= buffer.last; }

void check_kinds(const Schedule& schedule) {
  for (size_t s = 0; s < schedule.steps.size(); ++s)
    if (schedule.steps[s].work.index() != static_cast<size_t>(traits(schedule.steps[s].cls).kind))
      fail(schedule, fmt::format("step {} does work of another kind than its class", s));
}

void check_operands(const Schedule& schedule) {
  std::vector<uint8_t> written(schedule.buffers.size(), 0);
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    for (size_t i = 0; i < step.operands.size(); ++i) {
      View view = step.operands[i];
      if (view.buffer < 0 || view.buffer >= static_cast<int32_t>(schedule.buffers.size()))
        fail(schedule, fmt::format("step {} operand {} names no buffer", s, i));
      const Buffer& buffer = schedule.buffers[static_cast<size_t>(view.buffer)];
      if (view.offset < 0 || view.offset > buffer.bytes)
        fail(schedule, fmt::format("step {} operand {} starts outside b{}", s, i, view.buffer));
      if (buffer.is_planned() && !lives(buffer, static_cast<int32_t>(s)))
        fail(schedule, fmt::format("step {} uses b{} outside its live range", s, view.buffer));
      bool reads = static_cast<int32_t>(i) < step.inputs;
      if (reads && buffer.is_planned() && !written[static_cast<size_t>(view.buffer)])
        fail(schedule, fmt::format("step {} reads b{} before any step wrote it", s, view.buffer));
    }
    for (size_t i = static_cast<size_t>(step.inputs); i < step.operands.size(); ++i)
      written[static_cast<size_t>(step.operands[i].buffer)] = 1;
  }
}

// Sweeps over time: buffers alive at a step, sorted by offset, must not touch.
void check_overlap(const Schedule& schedule) {
  std::vector<std::vector<int32_t>> starts(schedule.steps.size() + 1);
  for (size_t b = 0; b < schedule.buffers.size(); ++b)
    if (schedule.buffers[b].is_planned())
      starts[static_cast<size_t>(schedule.buffers[b].first)].push_back(static_cast<int32_t>(b));
  std::map<int64_t, int32_t> alive;  // from offset to buffer
  auto end = [&](int32_t b) {
    return schedule.buffers[static_cast<size_t>(b)].offset + schedule.buffers[static_cast<size_t>(b)].bytes;
  };
  std::multimap<int32_t, int32_t> leaving;  // from a buffer's last step to the buffer
  for (size_t s = 0; s < starts.size(); ++s) {
    while (!leaving.empty() && leaving.begin()->first < static_cast<int32_t>(s)) {
      alive.erase(schedule.buffers[static_cast<size_t>(leaving.begin()->second)].offset);
      leaving.erase(leaving.begin());
    }
    for (int32_t b : starts[s]) {
      const Buffer& buffer = schedule.buffers[static_cast<size_t>(b)];
      auto above = alive.lower_bound(buffer.offset);
      if (above != alive.end() && above->first < end(b))
        fail(schedule, fmt::format("live buffers b{} and b{} overlap", b, above->second));
      if (above != alive.begin() && end(std::prev(above)->second) > buffer.offset)
        fail(schedule, fmt::format("live buffers b{} and b{} overlap", b, std::prev(above)->second));
      if (end(b) > schedule.arena_bytes) fail(schedule, fmt::format("b{} ends outside the arena", b));
      alive[buffer.offset] = b;
      leaving.emplace(buffer.last, b);
    }
  }
}

void check_exchanges(const Schedule& schedule) {
  std::vector<const Step*> under_way;
  for (const Step& step : schedule.steps) {
    if (step.cls == FusionClass::wait) {
      const auto at = std::ranges::find(under_way, step.reduction(), &Step::reduction);
      if (at == under_way.end()) fail(schedule, step.name + " waits for nothing");
      under_way.erase(at);
      continue;
    }
    for (const Step* exchange : under_way)
      if (touches(step, *exchange)) fail(schedule, step.name + " touches what is summed before its wait");
    if (step.cls == FusionClass::exchange) under_way.push_back(&step);
  }
  if (!under_way.empty()) fail(schedule, "nothing waits for " + under_way.front()->name);
}

}  // namespace

void verify(const Schedule& schedule) {
  check_kinds(schedule);
  check_operands(schedule);
  check_overlap(schedule);
  check_exchanges(schedule);
}

}  // namespace kb
