// The flat parameter space: every parameter a segment of one vector, in one order, so that an update, a cast and a
// bucket are ranges.
#pragma once
#include "compiler/passes/passes.h"

namespace kb {

inline constexpr int64_t kSegmentBlock = 16;  // elements: segments start at multiples of it (64 bytes of f32)
// The block where norms are taken: its sum of squares is one row of a reduction. ResNet-50's 161 parameters are padded
// by 0.3 % with it.
inline constexpr int64_t kNormBlock = 1024;
inline constexpr const char* kFlatParameters = "flat.parameters";
// The vector of all parameters; null where the graph reads and writes none.
const Variable* flat_parameters(const Graph& graph);
// Whether a node is the sum of the flat parameters and a slot: the point at which a rule takes its gradient
// (UpdateContext::gradient_offset) or an inference program evaluates (CompileOptions::offset).
bool is_offset_parameters(const Graph& graph, const Node& node);

// Segments for `parameters` in the order given, in which each group's stand one after the other.
ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<ParameterGroup>& groups,
                          int64_t block = kSegmentBlock);
// The vector of all parameters.
Variable flat_variable(const ParameterSpace& space);
// The variable `name`, which holds a slot of the update rule over a range of the space.
Variable slot_variable(const ParameterSpace& space, const std::string& name, const std::string& slot,
                       const SpaceRange& range);
// The part of a flat vector that is one parameter, in its own shape.
Value segment_view(Graph& graph, Value flat, const Segment& segment);

}  // namespace kb
