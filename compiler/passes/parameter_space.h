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

// Lays out segments for `parameters` in the order given, in which the parameters of each group stand together.
ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<ParameterGroup>& groups,
                          int64_t block = kSegmentBlock);
// Returns the variable that holds all parameters.
Variable flat_variable(const ParameterSpace& space);
// Returns the variable `name`, which holds a slot of the update rule over a range of the space.
Variable slot_variable(const ParameterSpace& space, const std::string& name, const std::string& slot,
                       const SpaceRange& range);
// Returns the part of a flat vector that is one parameter, in the parameter's own shape.
Value segment_view(Graph& graph, Value flat, const Segment& segment);

}  // namespace kb
