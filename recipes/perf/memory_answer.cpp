#include "recipes/perf/memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/passes/parameter_space.h"
#include "compiler/schedule/plan_memory.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

bool in_arena(const Buffer& buffer) { return buffer.kind == BufferKind::arena || buffer.kind == BufferKind::output; }

int64_t variable_bytes(const Variable& variable) { return std::max(variable.bytes, variable.type.bytes()); }

// True for a table that the caller fills, for instance with a data set; the compiler gives other tables their values.
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

// Returns the description of the first step that writes the buffer, an empty one if no step writes it. A concatenation
// that several steps fill has a description that stands for all of them.
StepDescription writer_of(const Schedule& schedule, int32_t buffer, const std::vector<StepDescription>& words) {
  std::vector<size_t> writers;
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    for (size_t o = static_cast<size_t>(step.inputs); o < step.operands.size(); ++o)
      if (step.operands[o].buffer == buffer && (writers.empty() || writers.back() != s)) writers.push_back(s);
  }
  const int32_t node = schedule.buffers[static_cast<size_t>(buffer)].node;
  const bool joined = node >= 0 && schedule.graph->nodes[static_cast<size_t>(node)].op == Op::concat;
  if (joined && writers.size() > 1) {
    const Variable* parameters = flat_parameters(*schedule.graph);
    const Type& type = schedule.graph->nodes[static_cast<size_t>(node)].type();
    const bool is_flat = parameters && type.shape == parameters->type.shape;
    return {is_flat ? "all gradients" : "concat", "", words[writers[0]].phase};
  }
  return writers.empty() ? StepDescription{} : words[writers[0]];
}

LiveTensor describe(const Schedule& schedule, int32_t b, const std::vector<StepDescription>& words) {
  const Buffer& buffer = schedule.buffers[static_cast<size_t>(b)];
  if (buffer.node < 0) return {{buffer.name.empty() ? "scratch" : buffer.name, "", {}}, "", "", buffer.bytes};
  const Node& node = schedule.graph->nodes[static_cast<size_t>(buffer.node)];
  StepDescription made_by = writer_of(schedule, b, words);
  if (made_by.what.empty()) made_by.what = std::string(name(node.op));
  return {std::move(made_by), to_string(node.type()), schedule.graph->place(node), buffer.bytes};
}

// Returns the parts, separated by commas, in lines of at most kLine characters; the first line already has `taken`.
std::string broken_lines(const std::vector<std::string>& parts, size_t taken) {
  constexpr size_t kLine = 80;
  std::string text;
  for (const std::string& part : parts) {
    const bool breaks = !text.empty() && taken + part.size() + 3 > kLine;
    text += text.empty() ? "" : breaks ? ",\n  " : ", ";
    taken = (breaks ? 2 : taken + 2) + part.size();
    text += part;
  }
  return text;
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
      case VariableKind::cache:
        (is_filled_table(variable) ? answer.data : answer.prepared) += bytes;
        break;
      case VariableKind::partial:
        answer.partial_sums += bytes;
        break;
    }
  }
  const Program& program = compiled.program;
  answer.inputs = input_bytes(program);
  answer.arena = arena_bytes(program);
  answer.liveness_bound = liveness_bound_bytes(program);
  return answer;
}

int64_t total_memory(std::span<const Compiled* const> programs) {
  const MemoryAnswer first = memory_answer(*programs.front());
  int64_t bytes = first.total() - first.arena;
  for (const Compiled* other : programs.subspan(1)) bytes += memory_answer(*other).own();
  for (int32_t lane = 0; lane < kMostLanes; ++lane) {
    int64_t most = 0;
    for (const Compiled* each : programs) most = std::max(most, arena_bytes(each->program, lane));
    bytes += most;
  }
  return bytes;
}

std::string to_text(const MemoryAnswer& a) {
  const double packing =
      a.liveness_bound > 0 ? static_cast<double>(a.arena) / static_cast<double>(a.liveness_bound) : 1;
  std::vector<std::string> parts = {"parameters " + bytes_text(a.parameters),
                                    "optimizer state " + bytes_text(a.optimizer)};
  if (a.statistics > 0) parts.push_back("running statistics " + bytes_text(a.statistics));
  if (a.data > 0) parts.push_back("data set " + bytes_text(a.data));
  if (a.prepared > 0) parts.push_back("prepared copies " + bytes_text(a.prepared));
  if (a.partial_sums > 0) parts.push_back("partial sums over workers " + bytes_text(a.partial_sums));
  parts.push_back("inputs " + bytes_text(a.inputs));
  parts.push_back(fmt::format("activations + gradients + workspace {} ({:.3f} x the liveness bound {})",
                              bytes_text(a.arena), packing, bytes_text(a.liveness_bound)));
  return "memory " + bytes_text(a.total()) + ": " + broken_lines(parts, 16);
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
  const std::vector<StepDescription> words = describe_steps(schedule);
  for (size_t b = 0; b < schedule.buffers.size(); ++b) {
    const Buffer& buffer = schedule.buffers[b];
    if (in_arena(buffer) && buffer.first <= static_cast<int32_t>(peak.step) &&
        static_cast<int32_t>(peak.step) <= buffer.last)
      peak.tensors.push_back(describe(schedule, static_cast<int32_t>(b), words));
  }
  std::stable_sort(peak.tensors.begin(), peak.tensors.end(),
                   [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  if (peak.tensors.size() > most) peak.tensors.resize(most);
  return peak;
}

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {" B", " kB", " MB", " GB", " TB"};
  return with_unit(static_cast<double>(bytes), kUnits);
}

}  // namespace kb
