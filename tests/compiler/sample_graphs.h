// Parts of small graphs, and whole ones, that tests of lowering and of kernels share.
#pragma once
#include <string>
#include <vector>

#include "graph/functions.h"

namespace kb::test {

// An input; of rank 0 a scalar.
Tensor input_of(Graph& graph, const Dims& shape, DType dtype = DType::f32, const std::string& name = "x");
// Marks a value as an output of its graph.
void output(const std::string& name, Tensor value);
// How far a kernel's result may be off the interpreter's, relative to the largest of its array.
double tolerance_of(DType dtype);
// "4 x 28 x 28".
std::string shape_name(const Dims& shape);

// Point-wise over a value and a vector along each of its axes.
Graph broadcast_graph(const Dims& shape);

struct NamedGraph {
  std::string name;
  Graph graph;
};
// Max pooling with its indices, sum pooling, their gradients and take_at_index, over all sorts of windows.
std::vector<NamedGraph> window_graphs();
// Crops of floats and bytes, mirrored ones too.
std::vector<NamedGraph> crop_graphs();

}  // namespace kb::test
