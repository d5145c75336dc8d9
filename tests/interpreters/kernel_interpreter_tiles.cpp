#include "tests/interpreters/kernel_interpreter_tiles.h"

#include <algorithm>
#include <utility>

#include "graph/error.h"

namespace kb::ir {

// Two of these instructions are not ordered without a barrier between them, since any thread of the block may do any
// part of them: each has a thread number of its own.
void Tiles::execute(const Instr& instr) {
  const int32_t before = std::exchange(host_.now().thread, -2 - executed_++);
  switch (instr.code) {
    case Code::tile_copy:
      copy(instr);
      break;
    case Code::tile_group:
      groups_.push_back(std::exchange(open_, {}));
      break;
    case Code::tile_wait:
      wait(instr.integer);
      break;
    case Code::tile_mma:
      multiply(instr);
      break;
    default:
      store(instr);
  }
  host_.now().thread = before;
}

void Tiles::end() const {
  const bool none = std::ranges::all_of(groups_, [](const Group& group) { return group.empty(); });
  ensure(none && open_.empty(), "kernel IR: a tile ends with copies under way: a tile_wait is missing");
}

LocalArray& Tiles::checked(int32_t number, int64_t element, const char* (*note)(Cell&, const Stamp&)) {
  LocalArray& array = host_.array(number);
  if (element < 0 || element >= array.extent) host_.fault('l', number, element, "is out of bounds");
  if (const char* what = note(array.cells[static_cast<size_t>(element)], host_.now()))
    host_.fault('l', number, element, what);
  return array;
}

void Tiles::copy(const Instr& instr) {
  const int64_t from = host_.integer(instr.a), pitch = host_.integer(instr.b), rows = host_.integer(instr.c);
  const int64_t columns = host_.integer(instr.valid);
  const auto whole = [&](int64_t elements) { return elements % kCopiedElements == 0; };
  ensure(whole(from) && whole(pitch) && whole(columns), "kernel IR: a tile_copy that is not aligned");
  const LocalArray& to = host_.array(instr.tile.local);
  int64_t element = host_.integer(instr.d) * to.rows * to.columns;
  for (int64_t r = 0; r < to.rows; ++r)
    for (int64_t k = 0; k < to.columns; ++k, ++element) {
      const bool there = r < rows && k < columns;
      const Scalar value = there ? host_.read(instr, from + r * pitch + k) : Scalar{};
      checked(instr.tile.local, element, note_write).cells[static_cast<size_t>(element)].under_way = true;
      open_.push_back({instr.tile.local, element, value});
    }
}

void Tiles::wait(int64_t under_way) {
  const auto arrived = std::max<int64_t>(std::ssize(groups_) - under_way, 0);
  for (const Group& group : std::span(groups_).first(static_cast<size_t>(arrived)))
    for (const Arrival& arrival : group) {
      LocalArray& array = host_.array(arrival.local);
      array.values[static_cast<size_t>(arrival.element)] = arrival.value;
      array.cells[static_cast<size_t>(arrival.element)].under_way = false;
    }
  groups_.erase(groups_.begin(), groups_.begin() + arrived);
  host_.now().epoch++;
}

std::vector<double> Tiles::matrix(int32_t local, int64_t number, bool transposed) {
  const LocalArray& array = host_.array(local);
  const int64_t first = number * array.rows * array.columns;
  const int64_t count = transposed ? array.columns : array.rows, depth = transposed ? array.rows : array.columns;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(count * depth));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t element = first + (transposed ? k * array.columns + i : i * array.columns + k);
      values.push_back(checked(local, element, note_read).values[static_cast<size_t>(element)].number);
    }
  return values;
}

void Tiles::multiply(const Instr& instr) {
  const Tile& tile = instr.tile;
  LocalArray& sums = host_.array(instr.buffer);
  const std::vector<double> a = matrix(tile.local, host_.integer(instr.a), tile.transposed);
  const std::vector<double> b = matrix(tile.other, host_.integer(instr.b), tile.other_transposed);
  const int64_t depth = std::ssize(a) / sums.rows;
  for (int64_t m = 0; m < sums.rows; ++m)
    for (int64_t n = 0; n < sums.columns; ++n) {
      double& sum = sums.values[static_cast<size_t>(m * sums.columns + n)].number;
      for (int64_t k = 0; k < depth; ++k)
        sum += a[static_cast<size_t>(m * depth + k)] * b[static_cast<size_t>(n * depth + k)];
    }
}

void Tiles::store(const Instr& instr) {
  const LocalArray& sums = host_.array(instr.buffer);
  for (int64_t i = 0; i < sums.extent; ++i) {
    const int64_t element = i / sums.columns * instr.tile.pitch + i % sums.columns;
    LocalArray& to = checked(instr.tile.local, element, note_write);
    to.values[static_cast<size_t>(element)] = convert_scalar(
        to.type, DType::f32, convert_scalar(DType::f32, DType::f64, sums.values[static_cast<size_t>(i)]));
  }
}

}  // namespace kb::ir
