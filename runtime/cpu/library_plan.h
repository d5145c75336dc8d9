// From a library node of a graph to a library call.
#pragma once
#include <memory>

#include "compiler/schedule.h"
#include "runtime/cpu/library.h"

namespace kb {

std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards);

}  // namespace kb
