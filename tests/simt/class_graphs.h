// Every fusion class: odd sizes, tails, misaligned views, one to many blocks, all dtypes.
#pragma once
#include <ostream>
#include <vector>

#include "tests/simt/kernel_graphs.h"

namespace kb::test {

struct KernelClass {
  const char* name;
  void (*add)(KernelGraphs& graphs);
};
inline std::ostream& operator<<(std::ostream& stream, const KernelClass& cls) { return stream << cls.name; }

std::vector<KernelClass> kernel_classes();
// Reductions over all dims of the shapes but the second and the last.
void add_long_columns(KernelGraphs& graphs, const std::vector<Dims>& shapes);
// tests/simt/edge_graphs.cpp
void values_at_edges(KernelGraphs& graphs);
// Adds the graphs at edges that compare clamped integers.
void equalities_at_edges(KernelGraphs& graphs);

}  // namespace kb::test
