// PassRunner runs the rows of the pipeline table: it times, verifies, dumps and checks each pass, and reports it.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "compiler/passes/cut.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/lowering_passes.h"

namespace kb {

struct PassReport {
  std::string name;  // the pass's name; after the cut the program's name follows it
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
  bool changed = true;
};

using CutPass = Cut (*)(const Graph& graph, const CompileOptions& options);

struct PassRow {
  const char* name;
  std::variant<Pass, CutPass, ProgramPass> function;
};

class PassRunner {
 public:
  PassRunner(CompileState& state, std::vector<PassReport>& reports) : state_(state), reports_(reports) {}

  Graph run(const PassRow& row, Pass pass, Graph graph);
  Cut run(const PassRow& row, CutPass pass, const Graph& graph);
  void run(const PassRow& row, ProgramPass pass, ProgramState& program);

 private:
  CompileState& state_;
  std::vector<PassReport>& reports_;
};

}  // namespace kb
