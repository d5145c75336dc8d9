// Interprets the ops that read or write at given indices.
#include <algorithm>

#include "graph/interpreter_ops.h"

namespace kb::oracle {

namespace {

void crop(const Work& work) {
  const Array &x = *work.in[0], &window = *work.in[1];
  Array& out = work.out[0];
  const Dims &from = x.type.shape, &to = out.type.shape;
  const int64_t height = from[from.size() - 2], width = from.back(), rows = to[to.size() - 2], columns = to.back();
  const int64_t planes = out.type.elements() / (rows * columns), planes_a_sample = planes / std::max<int64_t>(to[0], 1);
  size_t at = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const double* record = &window.data[static_cast<size_t>(plane / planes_a_sample * 3)];
    const auto top = static_cast<int64_t>(record[0]), left = static_cast<int64_t>(record[1]);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j, ++at) {
        const int64_t row = top + i, column = left + (record[2] != 0 ? columns - 1 - j : j);
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        out.data[at] = x.data[static_cast<size_t>((plane * height + row) * width + column)];
      }
    }
  }
}

// Sorts by counting; positions of indices outside of the table are in the last class.
void index_order(const Work& work) {
  const auto& indices = work.in[0]->data;
  auto& order = work.out[0].data;
  auto& starts = work.out[1].data;
  const size_t rows = starts.size() - 1;
  std::vector<std::vector<size_t>> classes(rows + 1);
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool inside = indices[i] >= 0 && indices[i] < static_cast<double>(rows);
    classes[inside ? static_cast<size_t>(indices[i]) : rows].push_back(i);
  }
  size_t at = 0;
  for (size_t row = 0; row <= rows; ++row) {
    starts[row] = static_cast<double>(at);
    for (const size_t i : classes[row]) order[at++] = static_cast<double>(i);
  }
}

}  // namespace

// gather and scatter_add. A row outside of the table reads `missing` and takes no update. A scatter_add adds in index
// order, and needs no order of the indices.
void indexed(const Work& work) {
  if (work.node.op == Op::crop) return crop(work);
  if (work.node.op == Op::index_order) return index_order(work);
  const bool gather = work.node.op == Op::gather;
  const Array& indices = *work.in[gather ? 1 : 0];
  const Array& source = *work.in[gather ? 0 : 1];
  Array& out = work.out[0];
  const Array& table = gather ? source : out;
  const int64_t rows = table.type.shape[0];
  int64_t length = 1;
  for (size_t a = 1; a < table.type.shape.size(); ++a) length *= table.type.shape[a];
  for (size_t i = 0; i < indices.data.size(); ++i) {
    const auto row = static_cast<int64_t>(indices.data[i]);
    const bool inside = row >= 0 && row < rows;
    for (int64_t j = 0; j < length; ++j) {
      const auto at = static_cast<size_t>(row * length + j),
                 flat = i * static_cast<size_t>(length) + static_cast<size_t>(j);
      if (gather)
        out.data[flat] = inside ? source.data[at] : missing(out.type.dtype);
      else if (inside)
        out.data[at] += source.data[flat];
    }
  }
}

}  // namespace kb::oracle
