#include <algorithm>
#include <limits>

#include "graph/infer_rules.h"

namespace kb {
namespace {

void check_indices(const Type& indices) {
  if (indices.dtype != DType::i32)
    throw Mistake{"indices are no i32", "i32", to_string(indices), "cast(indices, DType::i32)"};
}

Type infer_gather(const Type& table, const Type& indices) {
  check_rank_at_least(table, 1, "a table of at least one axis: its rows");
  check_indices(indices);
  Type result{table.dtype, indices.shape, ""};
  result.shape.insert(result.shape.end(), table.shape.begin() + 1, table.shape.end());
  return result;
}

std::vector<Type> infer_index_order(const Type& indices, int64_t rows) {
  check_indices(indices);
  const int64_t most = std::max(rows, indices.elements());
  if (most > std::numeric_limits<int32_t>::max())
    throw Mistake{"a table or indices too long for positions in i32", "at most 2147483647 of each",
                  std::to_string(most), ""};
  return {{DType::i32, {indices.elements()}, ""}, {DType::i32, {rows + 1}, ""}};
}

Type infer_scatter_add(std::span<const Type> in, int64_t rows) {
  const Type &indices = in[0], &updates = in[1];
  check_indices(indices);
  check_numbers(updates);
  const bool starts =
      updates.rank() >= indices.rank() && std::equal(indices.shape.begin(), indices.shape.end(), updates.shape.begin());
  if (!starts)
    throw Mistake{"updates do not fit the indices", "updates that start with " + shape_text(indices),
                  shape_text(updates), ""};
  const std::vector<Type> sorted = infer_index_order(indices, rows);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (in[2 + i].dtype != sorted[i].dtype || in[2 + i].shape != sorted[i].shape)
      throw Mistake{"no order of the indices", to_string(sorted[i]), to_string(in[2 + i]),
                    "index_order(indices, rows)"};
  Type result{updates.dtype, {rows}, ""};
  result.shape.insert(result.shape.end(), updates.shape.begin() + indices.rank(), updates.shape.end());
  return result;
}

Type infer_crop(const Type& x, const Type& window, const Ints& size) {
  check_rank_at_least(x, 3, "x [N, ..., H, W]");
  if (window.dtype != DType::i32 || window.shape != Dims{x.shape[0], 3})
    throw Mistake{"window does not fit x", "i32 [N=" + std::to_string(x.shape[0]) + ", 3]: top, left, mirrored",
                  to_string(window), ""};
  if (size.size() != 2) throw Mistake{"wrong number of extents", "size [H, W]", ints_text(size), ""};
  Type result = x;
  std::copy(size.begin(), size.end(), result.shape.end() - 2);
  return result;
}

}  // namespace

std::vector<Type> infer_indexed(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::gather) return {infer_gather(in[0], in[1])};
  if (op == Op::index_order) return infer_index_order(in[0], attrs.integer("rows"));
  if (op == Op::scatter_add) return {infer_scatter_add(in, attrs.integer("rows"))};
  ensure(op == Op::crop, "infer: no rule for an indexed op");
  return {infer_crop(in[0], in[1], attrs.ints("size"))};
}

}  // namespace kb
