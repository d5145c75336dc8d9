#include "recipes/perf/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "recipes/perf/memory_answer.h"

namespace kb {
namespace {

constexpr size_t kPeakRows = 10;

struct Totals {
  size_t nodes = 0, steps = 0, launches = 0, distinct_kernels = 0;
};

Totals totals(const Program& program) {
  Totals t;
  std::set<std::string> kernels;
  for (const Schedule* schedule : program.all()) {
    t.nodes += schedule->graph->nodes.size();
    t.steps += schedule->steps.size();
    t.launches += static_cast<size_t>(std::count_if(schedule->steps.begin(), schedule->steps.end(),
                                                    [](const Step& s) { return s.launch() != nullptr; }));
    for (const ir::Kernel& kernel : schedule->kernels) kernels.insert(kernel.name);
  }
  t.distinct_kernels = kernels.size();
  return t;
}

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

std::string pass_lines(const Compiled& compiled) {
  std::string text = fmt::format("{:<24} {:>9}  {:>15}\n", "pass", "ms", "nodes");
  for (const PassReport& pass : compiled.passes) {
    std::string nodes = pass.nodes_before == pass.nodes_after
                            ? fmt::format("{}", pass.nodes_after)
                            : fmt::format("{} -> {}", pass.nodes_before, pass.nodes_after);
    text += fmt::format("{:<24} {:>9.2f}  {:>15}{}\n", pass.name, pass.milliseconds, nodes,
                        pass.changed ? "" : "  (unchanged)");
  }
  return text;
}

// "b3 b7 -> b9", as --dump schedule names the buffers.
std::string operand_text(const Step& step) {
  std::string text;
  for (size_t i = 0; i < step.operands.size(); ++i)
    text += fmt::format("{}{}b{}", i == 0 ? "" : " ", static_cast<int32_t>(i) == step.inputs ? "-> " : "",
                        step.operands[i].buffer);
  return text;
}

std::string count_text(int64_t count) {
  if (count == 0) return "-";
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  double value = static_cast<double>(count);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, kUnits[unit]);
}

std::string schedule_lines(const Schedule& schedule) {
  if (schedule.steps.empty()) return "";
  std::string text = fmt::format("\n{}\n{:>4} {:<13} {:>9} {:>8}  {:<22} {:<44} {}\n", schedule.name, "step", "class",
                                 "bytes", "FLOPs", "place", "name", "inputs -> outputs");
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    text += fmt::format("{:>4} {:<13} {:>9} {:>8}  {:<22} {:<44} {}\n", s, name(step.cls), bytes_text(step.bytes),
                        count_text(step.flops), step_place(schedule, step), step.name, operand_text(step));
  }
  return text;
}

std::string recomputed_text(const Compiled& compiled) {
  const size_t count = compiled.recomputed.size();
  return count == 0 ? "" : fmt::format("; {} activations are computed again to save memory", count);
}

std::string peak_lines(const Program& program) {
  const Peak peak = memory_peak(program, kPeakRows);
  std::string text = fmt::format("\nlargest of {} live at step {}\n", bytes_text(peak.bytes), peak.step);
  for (const LiveTensor& tensor : peak.tensors)
    text += fmt::format("{:>9}  {:<22} {:<44} {}\n", bytes_text(tensor.bytes), tensor.place, tensor.name, tensor.type);
  return text;
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

std::string step_place(const Schedule& schedule, const Step& step) {
  for (int32_t n : step.nodes)
    if (std::string place = schedule.graph->place(schedule.graph->nodes[static_cast<size_t>(n)]); !place.empty())
      return place;
  return "";
}

namespace {

std::string program_lines(const Program& program) {
  std::string text;
  for (const Schedule* schedule : program.all())
    if (!schedule->steps.empty() || schedule == &program.prepare) text += schedule_lines(*schedule);
  return text;
}

std::string program_text(const Compiled& compiled) {
  const Program& program = compiled.program;
  const Totals t = totals(program);
  return parameter_lines(compiled.space) + "\n" + pass_lines(compiled) + program_lines(program) + "\n" +
         to_text(memory_answer(compiled)) + recomputed_text(compiled) + peak_lines(program) +
         fmt::format("\n{} nodes, {} steps, {} launches of {} distinct kernels; graph {}\n", t.nodes, t.steps,
                     t.launches, t.distinct_kernels, compiled.graph_hash);
}

nlohmann::ordered_json program_json(const Compiled& compiled) {
  const Totals t = totals(compiled.program);
  const MemoryAnswer memory = memory_answer(compiled);
  return {{"nodes", t.nodes},
          {"steps", t.steps},
          {"launches", t.launches},
          {"distinct_kernels", t.distinct_kernels},
          {"peak_bytes", memory.arena},
          {"liveness_bound_bytes", memory.liveness_bound},
          {"parameter_bytes", memory.parameters},
          {"optimizer_bytes", memory.optimizer},
          {"total_bytes", memory.total()},
          {"recomputed", compiled.recomputed.size()},
          {"compile_ms", compiled.milliseconds}};
}

}  // namespace

std::string inspection_text(const Compiled& compiled, const LoadReport& load) {
  return program_text(compiled) +
         fmt::format(
             "compiled in {:.1f} ms, kernels in {:.1f} ms ({} compiled, {} from the cache), library in {:.1f} ms\n",
             compiled.milliseconds, load.jit_milliseconds, load.compiled, load.cache_hits, load.library_milliseconds);
}

std::string inspection_json(const Compiled& compiled, const LoadReport& load) {
  nlohmann::ordered_json object = program_json(compiled);
  object["jit_ms"] = load.jit_milliseconds;
  object["library_ms"] = load.library_milliseconds;
  object["cache_hits"] = load.cache_hits;
  object["kernels_compiled"] = load.compiled;
  object["graph_hash"] = compiled.graph_hash;
  return object.dump();
}

std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels) {
  return program_text(compiled) + fmt::format("compiled in {:.1f} ms\n", compiled.milliseconds) + to_text(kernels);
}

std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model) {
  nlohmann::ordered_json object = program_json(compiled);
  if (!kernels.compiler.empty()) {
    object["nvrtc"] = kernels.compiler;
    object["nvrtc_ms"] = kernels.nvrtc_ms;
    object["registers_max"] = kernels.registers_max();
    object["spill_bytes"] = kernels.spill_bytes();
    object["cache_hits"] = kernels.cache_hits;
    object["kernels_compiled"] = kernels.compiled;
  } else {
    object["not_compiled"] = kernels.missing;
  }
  if (model) {
    object["predicted_ms"] = model->milliseconds();
    object["predicted_generated_ms"] = model->generated_ms;
    object["predicted_library_ms"] = model->library_ms;
    object["generated_bytes"] = model->generated_bytes;
    object["library_bytes"] = model->library_bytes;
  }
  object["graph_hash"] = compiled.graph_hash;
  return object.dump();
}

}  // namespace kb
