#include "compiler/lower/reduce_tiles.h"

#include <algorithm>
#include <bit>

#include "graph/rounding.h"

namespace kb {
namespace {

constexpr int64_t kColumnVectors = 16;  // most vectors of kept elements that a block works on
constexpr int64_t kRowVectors = 4;      // vectors of a row for each thread of its block
constexpr int64_t kLoads = 4;           // loads that a thread has under way
constexpr int64_t kWideBytes = 128;     // bytes that a thread of a wide block has under way: 64 KiB a multiprocessor
constexpr int64_t kMostRounds = 8;      // most rounds that a thread has under way

}  // namespace

ReduceTiles::ReduceTiles(const Graph& graph, const Group& group, const Target& target) : Reduce(graph, group, target) {
  choose_tiles();
  choose_chunks_of_blocks();
}

bool ReduceTiles::has_node(bool (*is)(Op)) const {
  return std::ranges::any_of(cx_.group.nodes, [&](int32_t n) { return is(cx_.graph.node(n).op); });
}

// Random numbers and windows take registers, of which a thread of a wide block has few for all the elements that it has
// under way.
bool ReduceTiles::takes_registers() const {
  return gathers() || has_node([](Op op) { return op == Op::random_bits; });
}

bool ReduceTiles::gathers() const {
  return has_node([](Op op) { return info(op).cls == OpClass::window; });
}

bool ReduceTiles::fits_wide() const {
  return fits() && !has_product() && !takes_registers() && two_phases_ && !lanes_reduce() &&
         4 * tiles_ <= cx_.target.processors && chunk_ * reduced_in_index() >= batch();
}

int64_t ReduceTiles::suitable_threads() const {
  if (!lanes_reduce() || two_phases_ || nest_.dims.back().dynamic) return threads();
  const int64_t vectors = reduced_in_index() / cx_.b.lanes();
  const auto needed = static_cast<uint64_t>(ceil_div(vectors, kRowVectors));
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(needed)), kWarp, threads());
}

void ReduceTiles::choose_tiles() {
  const int64_t lanes = cx_.b.lanes();
  tiles_ = outer_items();
  if (lanes_reduce()) return;
  const Dim& last = nest_.dims.back();
  const auto vectors = static_cast<uint64_t>(ceil_div(last.extent, lanes));
  columns_ = last.dynamic ? kColumnVectors : std::min<int64_t>(std::bit_ceil(vectors), kColumnVectors);
  stretches_ = ceil_div(last.extent, columns_ * lanes);
  tiles_ *= stretches_;
}

void ReduceTiles::choose_chunks_of_blocks() {
  if (has_product()) return choose_chunks_of_product();
  choose_chunks(reduced_in_index() * columns_ * (lanes_reduce() ? 1 : cx_.b.lanes()),
                std::max<int64_t>(blocks_at_once() / tiles_, 1));
  if (is_wide() && two_phases_ && reduced_in_index() == 1) fill_batches();
}

// A chunk is whole tiles of rows, so that few rows of a tile are empty.
void ReduceTiles::choose_chunks_of_product() {
  choose_chunks(cx_.target.tile_elements, std::max<int64_t>(Product::kResident * cx_.target.processors / tiles_, 1));
  if (!two_phases_ || reduced_in_index() > 1) return;
  chunk_ = round_up(chunk_, Product::kRows);
  chunks_ = ceil_div(nest_.dims[0].extent, chunk_);
}

int64_t ReduceTiles::reduced_in_index() const {
  int64_t reduced = 1;
  for (size_t d = two_phases_ ? 1 : 0; d < nest_.dims.size(); ++d)
    if (nest_.dims[d].reduced) reduced *= nest_.dims[d].extent;
  return reduced;
}

void ReduceTiles::fill_batches() {
  const int64_t rest = chunk_ % batch();
  if (chunk_ < batch() || 2 * rest <= batch()) return;
  chunk_ += batch() - rest;
  chunks_ = ceil_div(nest_.dims[0].extent, chunk_);
}

int64_t ReduceTiles::blocks_at_once() const {
  if (is_wide()) return cx_.target.processors;
  size_t parts = 0;
  for (const Monoid& monoid : stages_[0].monoids) parts += monoid.parts();
  return parts > 2 ? cx_.target.max_partials * 2 / 3 : cx_.target.max_partials;
}

int32_t ReduceTiles::unroll() const {
  if (gathers()) return 1;
  int64_t large = 0, bytes = 0;
  for (const Value v : cx_.group.inputs) {
    const Type& type = cx_.graph.type(v);
    if (2 * type.elements() < element_count(cx_.group.domain)) continue;
    ++large;
    bytes += cx_.b.lanes() * size_of(type.dtype);
  }
  const int64_t rounds = is_wide() ? kWideBytes / std::max<int64_t>(bytes, 1) : kLoads / std::max<int64_t>(large, 1);
  return static_cast<int32_t>(std::clamp<int64_t>(rounds, 1, kMostRounds));
}

}  // namespace kb
