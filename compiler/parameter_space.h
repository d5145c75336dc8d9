// The flat parameter space: every parameter a segment of one vector, in one order, so that an update, a cast and a
// bucket are ranges.
#pragma once
#include "compiler/passes.h"

namespace kb {

inline constexpr int64_t kSegmentBlock = 16;  // elements: segments start at multiples of it (64 bytes of f32)
inline constexpr const char* kFlatParameters = "flat.parameters";

// Segments for `parameters` in the order given.
ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<Role>& no_decay);
// A flat variable over the space ("flat.parameters", a slot).
Variable flat_variable(const ParameterSpace& space, const std::string& name, VariableKind kind);
// The part of a flat vector that is one parameter, in its own shape.
Value segment_view(Graph& graph, Value flat, const Segment& segment);

}  // namespace kb
