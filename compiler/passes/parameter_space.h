// The flat parameter space: one vector in which every parameter is a segment, in a fixed order. An update, a cast and a
// bucket of the all-reduce are ranges of it.
#pragma once
#include "compiler/passes/passes.h"

namespace kb {

inline constexpr int64_t kSegmentBlock = 16;  // elements: segments start at multiples of it (64 bytes of f32)
// Elements of a block when a rule takes norms: a block's sum of squares is one row of a reduction. It pads ResNet-50's
// 161 parameters by 0.3 %.
inline constexpr int64_t kNormBlock = 1024;
inline constexpr const char* kFlatParameters = "flat.parameters";
// Returns the variable that holds all parameters; null if the graph neither reads nor writes it.
const Variable* flat_parameters(const Graph& graph);
// Returns whether a node is the sum of the flat parameters and a slot: the point at which a rule takes its gradient
// (UpdateContext::gradient_offset) or an inference program evaluates (CompileOptions::offset).
bool is_offset_parameters(const Graph& graph, const Node& node);
// Returns a flag for each node: whether it depends on parameters alone (at an offset or not) and on at least one.
std::vector<uint8_t> parameter_only(const Graph& graph);

// Lays out segments for `parameters` in the order given, in which the parameters of each group stand together. With
// `filters_last` filters of several taps lie as (O, H, W, I).
ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<ParameterGroup>& groups,
                          int64_t block = kSegmentBlock, bool filters_last = false);
// Returns whether a parameter is a bank of filters of a convolution, by the names of its axes.
bool is_filters(const Variable& parameter);
// Returns the variable that holds all parameters.
Variable flat_variable(const ParameterSpace& space);
// Returns the variable `name`, which holds a slot of the update rule over a range of the space.
Variable slot_variable(const ParameterSpace& space, const std::string& name, const std::string& slot,
                       const SpaceRange& range);
// Returns the part of a flat vector that is one parameter, in the parameter's own shape.
Value segment_view(Graph& graph, Value flat, const Segment& segment);
// Returns a value of the parameter's own shape as a vector in the order of the segment.
Value segment_vector(Graph& graph, Value value, const Segment& segment);

// Calls f(p, i) for every element of a segment: it lies at place p of the segment, and is element i of the tensor in
// row-major order.
template <class F>
void for_each_place(const Segment& segment, F&& f) {
  const Dims& shape = segment.type.shape;
  Ints strides(shape.size(), 1), at(shape.size(), 0);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  for (int64_t place = 0, element = 0; place < segment.length; ++place) {
    f(place, element);
    for (size_t i = shape.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(segment.order.empty() ? static_cast<int64_t>(i) : segment.order[i]);
      element += strides[axis];
      if (++at[axis] < shape[axis]) break;
      element -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace kb
