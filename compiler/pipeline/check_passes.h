// --check-passes interprets a graph before and after each pass on the same random inputs and compares the results.
#pragma once
#include <string>

#include "compiler/passes/passes.h"

namespace kb {

// Compares every output that both graphs have, and every state write by the variable's name (parameters inside the flat
// space by segment). Throws InternalError naming the pass and the output, with the text of the graph before as a
// reproducer.
void check_pass(const std::string& pass, const Graph& before, const Graph& after, const CompileState& state);

}  // namespace kb
