#include "compiler/passes/matrices.h"

#include <fmt/format.h>

#include <map>

#include "graph/functions.h"
#include "graph/report.h"

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
Tensor batch_of(const Tensor& flat, const std::vector<int64_t>& offsets, const Extents& extents) {
  const auto [rows, columns] = extents;
  std::vector<Tensor> parts;
  for (const int64_t offset : offsets)
    parts.push_back(reshape(slice(flat, 0, offset, offset + rows * columns), {1, rows, columns}));
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

void check_result(const Tensor& given, const Tensor& result) {
  if (result.shape() == given.shape()) return;
  throw Error(
      fmt::format("the update rule's function of matrices: expected a result of the matrices' shape, {}, got {}",
                  shape_text(given.type()), shape_text(result.type())));
}

}  // namespace

Tensor map_matrices(const Tensor& x, std::span<const Segment> segments, int64_t block, const MatrixFunction& f) {
  const Tensor flat = reshape(x, {-1});
  const int64_t begin = segments.front().offset;
  std::map<Extents, std::vector<int64_t>> offsets;
  for (const Segment& segment : segments) offsets[matrix_of(segment)].push_back(segment.offset - begin);
  std::map<int64_t, Tensor> results;  // by the offset of the segment, each as a vector
  for (const auto& [extents, places] : offsets) {
    const Tensor given = batch_of(flat, places, extents), made = f(given);
    check_result(given, made);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      results[places[i]] = reshape(slice(made, 0, at, at + 1), {-1});
    }
  }
  std::vector<Tensor> parts;
  for (const Segment& segment : segments) {
    parts.push_back(results.at(segment.offset - begin));
    if (const int64_t gap = (block - segment.length % block) % block; gap > 0)
      parts.push_back(constant(x.graph(), x.dtype(), Dims{gap}, {0.0}));
  }
  return reshape(parts.size() == 1 ? parts[0] : concat(parts, 0), x.shape());
}

}  // namespace kb
