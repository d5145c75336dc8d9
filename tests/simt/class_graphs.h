// Graphs of every fusion class: odd sizes, tails, misaligned views, one block or many, all dtypes. The emulator takes
// long for each, so dtypes take turns; with `-- --all`, as in tests/gpu/first, every dtype has every graph.
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
// Returns whether the turn of a dtype has come at number `n` of its graphs: always for f32, at each third for others.
bool has_turn(DType dtype, size_t n);
// Returns those of the shapes, or sizes, that a dtype has.
template <class T>
std::vector<T> turns(DType dtype, const std::vector<T>& all) {
  std::vector<T> taken;
  for (size_t n = 0; n < all.size(); ++n)
    if (has_turn(dtype, n)) taken.push_back(all[n]);
  return taken;
}
// Adds reductions over all dims of the shapes except the second and the last.
void add_long_columns(KernelGraphs& graphs, const std::vector<Dims>& shapes);
// Add the graphs of tests/simt/fused_graphs.cpp.
void batch_norm_chains(KernelGraphs& graphs);
void written_columns(KernelGraphs& graphs);
void packed_masks(KernelGraphs& graphs);
void pools_in_their_launches(KernelGraphs& graphs);
// Add the graphs of tests/simt/product_graphs.cpp.
void products(KernelGraphs& graphs);
void products_by_warps(KernelGraphs& graphs);
// Adds the graphs of tests/simt/edge_graphs.cpp.
void values_at_edges(KernelGraphs& graphs);
// Adds the graphs at edges that compare clamped integers.
void equalities_at_edges(KernelGraphs& graphs);

}  // namespace kb::test
