// Plans the library call of a graph's library node.
#pragma once
#include <memory>

#include "compiler/schedule.h"
#include "runtime/cpu/library.h"

namespace kb {

std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards);

}  // namespace kb
