// A program written by hand, for tests of what runs programs: no pass and no lowering has a part in it.
#pragma once
#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/plan_memory.h"
#include "graph/functions.h"
#include "runtime/session.h"
#include "tests/compiler/sample_kernels.h"

namespace kb::test {

inline Kernel hand_kernel(const std::string& name, Op op) {
  Binary apply = [op](Builder& b, Reg x, Reg z) { return b.compute(op, x, z); };
  Kernel kernel = pointwise(DType::f32, DType::f32, {{DType::f32, apply}});
  kernel.name = name;
  return kernel;
}

// a = x + x; b = a * x; y = a + b over n elements, as three steps. Buffers: x, a, b, y.
inline Schedule hand_schedule(int64_t n, const Target& target) {
  auto graph = std::make_shared<Graph>("hand");
  Tensor x = input(*graph, "x", DType::f32, {n}, "N");
  Tensor a = x + x, b = a * x, y = a + b;
  graph->outputs.push_back({"y", y.value(), Merge::per_sample});
  Schedule schedule;
  schedule.name = "hand";
  schedule.graph = graph;
  schedule.kernels = {hand_kernel("k_hand_add", Op::add), hand_kernel("k_hand_mul", Op::mul)};
  schedule.buffers = {{BufferKind::input, "x", 4 * n, 0, 0, 2, x.value().node},
                      {BufferKind::arena, "a", 4 * n, 0, 0, 2, a.value().node},
                      {BufferKind::arena, "b", 4 * n, 0, 1, 2, b.value().node},
                      {BufferKind::output, "y", 4 * n, 0, 2, 2, y.value().node}};
  schedule.views = {{x.value(), {0, 0}}, {a.value(), {1, 0}}, {b.value(), {2, 0}}, {y.value(), {3, 0}}};
  auto add_step = [&](const char* name, int32_t kernel, std::vector<View> operands) {
    Step step;
    step.name = name;
    step.work = KernelLaunch{kernel, {n, 0}, {(n + 1023) / 1024}};
    step.operands = std::move(operands);
    step.inputs = 2;
    step.bytes = 12 * n;
    step.flops = n;
    schedule.steps.push_back(std::move(step));
  };
  add_step("first", 0, {{0, 0}, {0, 0}, {1, 0}});
  add_step("second", 1, {{1, 0}, {0, 0}, {2, 0}});
  add_step("third", 0, {{1, 0}, {2, 0}, {3, 0}});
  plan_memory(schedule, target.redzone_bytes);
  return schedule;
}

inline Compiled hand_program(Schedule final) {
  Compiled compiled;
  Schedule prepare;
  prepare.name = "prepare";
  prepare.role = PartRole::prepare;
  prepare.graph = std::make_shared<Graph>("prepare");
  compiled.program.parts = {std::move(prepare), std::move(final)};
  compiled.program.routines = {{{0, {}}, {1, {}}}};
  compiled.program.of_worker = {0};
  return compiled;
}

// x[i] = i / 8, and what the program makes of it.
inline float hand_input(int64_t i) { return static_cast<float>(i) / 8; }
inline float hand_result(int64_t i) { return (hand_input(i) + hand_input(i)) * (1 + hand_input(i)); }

inline void fill_hand_input(Session& session) {
  auto* x = reinterpret_cast<float*>(session.input("x"));
  for (int64_t i = 0; i < session.input_type("x").elements(); ++i) x[i] = hand_input(i);
}

}  // namespace kb::test
