#include "compiler/passes/matrices.h"

#include <fmt/format.h>

#include <map>

#include "compiler/passes/parameter_space.h"
#include "graph/functions.h"

namespace kb {
namespace {

// The shape of a parameter as a matrix: its first axis, and all others as one.
using Extents = std::pair<int64_t, int64_t>;

Extents matrix_of(const Segment& segment) {
  if (segment.type.rank() < 2)
    throw Error(fmt::format(
        "the update rule takes matrices, and parameter \"{}\" is none\n  expected: parameters of two axes or more\n  "
        "got:      {}\n  hint:     a group of the matrices alone takes this rule (ParameterGroup::owns), and "
        "another rule the rest",
        segment.name, shape_text(segment.type)));
  const int64_t rows = segment.type.shape.front();
  return {rows, segment.length / rows};
}

// Returns the matrices of one shape, (number, rows, columns).
Tensor batch_of(const Tensor& flat, const std::vector<const Segment*>& segments) {
  const auto [rows, columns] = matrix_of(*segments.front());
  std::vector<Tensor> parts;
  for (const Segment* segment : segments)
    parts.push_back(reshape({flat.graph(), segment_view(flat.graph(), flat.value(), *segment)}, {1, rows, columns}));
  return concat(parts, 0);
}

void check_result(const Tensor& given, const Tensor& result) {
  if (result.shape() == given.shape()) return;
  throw Error(
      fmt::format("the update rule's function of matrices: expected a result of the matrices' shape, {}, got {}",
                  shape_text(given.type()), shape_text(result.type())));
}

}  // namespace

Tensor map_matrices(const Tensor& x, std::span<const Segment> segments, int64_t block, MatrixOrder order,
                    const SegmentMatrixFunction& f) {
  Graph& graph = x.graph();
  const Tensor flat = reshape(x, {-1});
  std::vector<Segment> own(segments.begin(), segments.end());  // with offsets in x
  std::map<Extents, std::vector<const Segment*>> by_shape;
  for (Segment& segment : own) {
    segment.offset -= segments.front().offset;
    if (order == MatrixOrder::of_segment) segment.order.clear();
    by_shape[matrix_of(segment)].push_back(&segment);
  }
  std::map<const Segment*, Value> results;  // each as a vector
  for (const auto& [extents, places] : by_shape) {
    const Tensor given = batch_of(flat, places), made = f(given, places);
    check_result(given, made);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const Tensor tensor = reshape(slice(made, 0, at, at + 1), places[i]->type.shape);
      results[places[i]] = segment_vector(graph, tensor.value(), *places[i]);
    }
  }
  std::vector<Tensor> parts;
  for (const Segment& segment : own) {
    parts.emplace_back(graph, results.at(&segment));
    if (const int64_t gap = (block - segment.length % block) % block; gap > 0)
      parts.push_back(constant(graph, x.dtype(), Dims{gap}, {0.0}));
  }
  return reshape(concat(parts, 0), x.shape());
}

}  // namespace kb
