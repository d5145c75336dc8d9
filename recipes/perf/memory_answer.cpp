#include "recipes/perf/memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/plan_memory.h"

namespace kb {
namespace {

bool in_arena(const Buffer& buffer) { return buffer.kind == BufferKind::arena || buffer.kind == BufferKind::output; }

int64_t variable_bytes(const Variable& variable) { return std::max(variable.bytes, variable.type.bytes()); }

// By its user: it has no values of its own.
bool is_filled_table(const Variable& variable) {
  return variable.kind == VariableKind::table && variable.init.kind != InitKind::runs;
}

int64_t input_bytes(const Program& program) {
  std::set<std::string> seen;
  int64_t bytes = 0;
  for (const Schedule* schedule : program.all())
    for (const Buffer& buffer : schedule->buffers)
      if (buffer.kind == BufferKind::input && seen.insert(buffer.name).second) bytes += buffer.bytes;
  return bytes;
}

LiveTensor describe(const Schedule& schedule, const Buffer& buffer) {
  if (buffer.node < 0) return {buffer.name.empty() ? "scratch" : buffer.name, "", "", buffer.bytes};
  const Node& node = schedule.graph->nodes[static_cast<size_t>(buffer.node)];
  const std::string& scope = schedule.graph->scopes[static_cast<size_t>(node.scope)];
  std::string name(kb::name(node.op));
  return {scope.empty() ? name : name + " " + scope, to_string(node.type()), schedule.graph->place(node), buffer.bytes};
}

}  // namespace

MemoryAnswer memory_answer(const Compiled& compiled) {
  MemoryAnswer answer;
  for (const Variable& variable : compiled.variables) {
    const int64_t bytes = variable_bytes(variable);
    switch (variable.kind) {
      case VariableKind::parameter:
        answer.parameters += bytes;
        break;
      case VariableKind::slot:
        answer.optimizer += bytes;
        break;
      case VariableKind::state:
        answer.statistics += bytes;
        break;
      case VariableKind::table:
      case VariableKind::prepared:
        (is_filled_table(variable) ? answer.data : answer.prepared) += bytes;
        break;
      case VariableKind::partial:
        answer.partial_sums += bytes;
        break;
    }
  }
  const Program& program = compiled.program;
  answer.inputs = input_bytes(program);
  for (const Schedule* schedule : program.all()) {
    answer.arena = std::max(answer.arena, schedule->arena_bytes);
    answer.liveness_bound = std::max(answer.liveness_bound, schedule->liveness_bound_bytes);
  }
  return answer;
}

std::string to_text(const MemoryAnswer& a) {
  double packing = a.liveness_bound > 0 ? static_cast<double>(a.arena) / static_cast<double>(a.liveness_bound) : 1;
  std::string text = fmt::format("memory {}: parameters {}, optimizer state {}", bytes_text(a.total()),
                                 bytes_text(a.parameters), bytes_text(a.optimizer));
  if (a.statistics > 0) text += fmt::format(", running statistics {}", bytes_text(a.statistics));
  if (a.data > 0) text += fmt::format(", data set {}", bytes_text(a.data));
  if (a.prepared > 0) text += fmt::format(", prepared copies {}", bytes_text(a.prepared));
  if (a.partial_sums > 0) text += fmt::format(", partial sums over workers {}", bytes_text(a.partial_sums));
  text += fmt::format(", inputs {}, activations + gradients + workspace {}", bytes_text(a.inputs), bytes_text(a.arena));
  return text + fmt::format(" ({:.3f} x the liveness bound {})", packing, bytes_text(a.liveness_bound));
}

Peak memory_peak(const Program& program, size_t most) {
  const std::vector<const Schedule*> all = program.all();
  return memory_peak(**std::max_element(all.begin(), all.end(),
                                        [](const Schedule* a, const Schedule* b) {
                                          return a->liveness_bound_bytes < b->liveness_bound_bytes;
                                        }),
                     most);
}

Peak memory_peak(const Schedule& schedule, size_t most) {
  const std::vector<int64_t> live = live_bytes(schedule);
  if (live.empty()) return {};
  Peak peak;
  peak.step = static_cast<size_t>(std::max_element(live.begin(), live.end()) - live.begin());
  peak.bytes = live[peak.step];
  for (const Buffer& buffer : schedule.buffers)
    if (in_arena(buffer) && buffer.first <= static_cast<int32_t>(peak.step) &&
        static_cast<int32_t>(peak.step) <= buffer.last)
      peak.tensors.push_back(describe(schedule, buffer));
  std::stable_sort(peak.tensors.begin(), peak.tensors.end(),
                   [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  if (peak.tensors.size() > most) peak.tensors.resize(most);
  return peak;
}

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

}  // namespace kb
