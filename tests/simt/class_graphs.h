// Graphs of every fusion class: odd sizes, tails, misaligned views, one block or many, all dtypes. The emulator takes
// long for each, so dtypes take turns; with `-- --all` every dtype has every graph, as it has on a device.
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
// Returns whether a dtype has graph `number` of those of its kind: f32 has all, the others every third of them.
bool has_turn(DType dtype, size_t number);
// Adds reductions over all dims of the shapes except the second and the last.
void add_long_columns(KernelGraphs& graphs, const std::vector<Dims>& shapes);
// Add the graphs of tests/simt/fused_graphs.cpp.
void batch_norm_chains(KernelGraphs& graphs);
void written_columns(KernelGraphs& graphs);
void packed_masks(KernelGraphs& graphs);
void pools_in_their_launches(KernelGraphs& graphs);
// Adds the graphs of tests/simt/product_graphs.cpp.
void products(KernelGraphs& graphs);
// Adds the graphs of tests/simt/edge_graphs.cpp.
void values_at_edges(KernelGraphs& graphs);
// Adds the graphs at edges that compare clamped integers.
void equalities_at_edges(KernelGraphs& graphs);

}  // namespace kb::test
