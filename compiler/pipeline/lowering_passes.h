// ProgramState is one program on its way from a graph to a schedule. The passes after the cut read it and add to it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/schedule.h"
#include "compiler/schedule/order.h"

namespace kb {

struct ProgramState {
  const CompileOptions& options;
  std::shared_ptr<const Graph> graph;
  std::vector<Group> groups;  // after fuse
  Ordered ordered;            // after order
  Schedule schedule;          // after lower; its buffers have offsets after plan_memory
};

using ProgramPass = void (*)(ProgramState& program);

void fuse_program(ProgramState& program);
void order_program(ProgramState& program);
void lower_program(ProgramState& program);
void plan_program(ProgramState& program);

// Returns the latest of a program's forms as text, for dumps.
std::string to_text(const ProgramState& program);
// Throws InternalError unless every group stands after those that write what it reads.
void verify_order(const Graph& graph, const std::vector<Group>& groups);

}  // namespace kb
