// Small graphs, and functions to build them, that tests of lowering and of kernels share.
#pragma once
#include <string>
#include <vector>

#include "graph/functions.h"

namespace kb::test {

// Adds an input, which is a scalar input if the shape has rank 0.
Tensor input_of(Graph& graph, const Dims& shape, DType dtype = DType::f32, const std::string& name = "x");
// Marks a value as an output of its graph.
void output(const std::string& name, Tensor value);
// Returns how far a kernel's result may be from the interpreter's, relative to the largest magnitude in the array.
double tolerance_of(DType dtype);
// Returns the gradient of a convolution of one tap to its filters, rounded to the dtype of the images.
Tensor rounded_gradient(Tensor x, Tensor dy);
// Returns a text such as "4 x 28 x 28".
std::string shape_name(const Dims& shape);

// Returns point-wise operations on an array of this shape and on one vector along each of its axes.
Graph broadcast_graph(const Dims& shape);

struct NamedGraph {
  std::string name;
  Graph graph;
};
// Returns graphs of max pooling with its indices, sum pooling, their gradients and take_at_index, over various windows.
std::vector<NamedGraph> window_graphs();
// Returns graphs that crop floats and bytes, mirrored crops too.
std::vector<NamedGraph> crop_graphs();

}  // namespace kb::test
