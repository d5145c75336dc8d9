#include "recipes/inspect/inspect_json.h"

#include "recipes/inspect/inspect.h"
#include "recipes/perf/memory_answer.h"
#include "runtime/json.h"

namespace kb {
namespace {

Json program_json(const Compiled& compiled) {
  const ProgramTotals t = program_totals(compiled.program);
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

std::string inspection_json(const Compiled& compiled, const LoadReport& load) {
  Json object = program_json(compiled);
  object["jit_ms"] = load.jit_milliseconds;
  object["library_ms"] = load.library_milliseconds;
  object["cache_hits"] = load.cache_hits;
  object["kernels_compiled"] = load.compiled;
  object["graph_hash"] = compiled.graph_hash;
  return object.dump();
}

std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model) {
  Json object = program_json(compiled);
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
