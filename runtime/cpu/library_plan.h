// From a library node of a graph to a library call: the one place that reads conv and matmul nodes' attributes for the
// CPU.
#pragma once
#include <memory>

#include "compiler/schedule.h"
#include "runtime/cpu/library.h"

namespace kb {

ConvSpec conv_spec(const Graph& graph, const Node& node);
MatmulSpec matmul_spec(const Graph& graph, const Node& node);
std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards);

}  // namespace kb
