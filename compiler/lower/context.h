// The Context is what the steps of lowering one group share: the kernel being written, its buffers and arguments, and
// the loops that kernels of all classes are made of.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/kernel/builder.h"
#include "compiler/lower/index.h"
#include "compiler/lower/lower.h"

namespace kb {

// The number of rounds of a loop: a literal, or a register (an extent that grows with the minibatch) of which only a
// literal factor is known.
struct Extent {
  int64_t literal = 1;
  ir::Reg reg = ir::kNone;
  int64_t multiple = 1;  // a known factor of the register's value
  bool dynamic() const { return reg != ir::kNone; }
};

class Context {
 public:
  Context(const Graph& graph, const Group& group, const Target& target, const std::string& kind);

  const Graph& graph;
  const Group& group;
  const Target& target;
  ir::Builder b;
  IndexMath math;

  // Returns the i64 argument of this name, made on first use, for which this instance of the kernel passes `value`.
  // Throws InternalError if the name has another value already. Two names with equal values stay two arguments, so that
  // the text does not show which values happen to be equal.
  ir::Reg argument(const std::string& name, int64_t value);

  // These return the number of the buffer of a materialised input or of an output; -1 if the value is not one.
  int32_t input_buffer(Value value) const;
  int32_t output_buffer(Value value) const;
  // Adds a scratch buffer and returns its number.
  int32_t add_scratch(DType dtype, int64_t elements);

  // These load or store an element of a buffer at a row-major position, in register form (f32 for bf16 and f16). A
  // store that `streams` may bypass the cache.
  ir::Reg load(int32_t buffer, const Index& position, ir::Reg where = ir::kNone, double otherwise = 0);
  void store(int32_t buffer, const Index& position, ir::Reg value, bool streams);
  void store_output(Value value, const Index& position, ir::Reg reg);
  // These load or store one boolean of packed bits, whose position counts booleans. Bits are stored in the lane loops
  // of eight elements that `lower` chooses for a group on a GPU that packs bits.
  ir::Reg load_bit(int32_t buffer, const Index& position, ir::Reg where);
  void store_bit(int32_t buffer, const Index& position, ir::Reg value);

  // These write loops. `vectors` runs over `extent` elements by lanes, with fewer valid lanes in the tail; body gets
  // the index of the element.
  using Body = std::function<void(const Index&)>;
  Extent literal(int64_t value) const { return {value, ir::kNone, value}; }
  Extent least(int64_t most, const Extent& whole, const Index& begin);  // returns min(most, whole - begin)
  // Returns the first element of a tile that has `size` of them. On a CPU it is an index of which nothing is known, so
  // that the text does not show what happens to divide the size.
  Index first_of_tile(const Index& tile, int64_t size);
  ir::Reg reg(const Extent& extent);
  void serial(const Extent& extent, const Body& body);
  void vectors(const Extent& extent, const Body& body);
  // Divides `extent` rounds into blocks of `size`; body gets a block's first round and its number of rounds.
  void blocks(const Extent& extent, int64_t size, const std::function<void(const Index&, const Extent&)>& body);

  // Writes body for one vector of `valid` elements from `begin` on; a single element needs no lane loop.
  void one_vector(const Extent& valid, const Index& begin, const Body& body);

  // Writes a serial loop for a CPU, and for a GPU a loop over the block's threads, of which each takes rounds thread,
  // thread + threads, ...; there are `most` rounds at most.
  void shared(const Extent& extent, int64_t most, const Body& body);
  // Writes the loop of one thread in `shared`. `unroll` is the number of rounds that should be under way at once, if
  // none of them writes memory.
  void rounds_of_thread(const Extent& extent, int64_t most, const Index& thread, int64_t threads, const Body& body,
                        int32_t unroll = 1);

  // Adds a phase; `dynamic` says that its number of tiles grows with the minibatch.
  void add_phase(int64_t tiles, bool dynamic, const Body& body);
  Lowered finish();

  // Returns the size of chunks of `extent` elements, about `most`: a divisor of `extent` if one is near, else an even
  // share rounded up to a multiple of `unit`.
  static int64_t chunk_of(int64_t extent, int64_t most, int64_t unit);

  // Returns an element of the group's product (compiler/lower/product.h) at its indices.
  std::function<ir::Reg(const Indices&)> product;

  bool prefetches = true;  // false for kernels that do not walk through their inputs

  // Positions of loads and stores, and indices that are used as numbers, in the order in which they are lowered; only
  // make_nest (compiler/lower/nest.h) has them noted.
  struct Note {
    Index index;
    bool as_number = false;
  };
  std::vector<Note>* notes = nullptr;
  void note(const Index& index, bool as_number) {
    if (notes) notes->push_back({index, as_number});
  }

 private:
  int64_t streaming_argument();
  ir::Reg number_of_vectors(int64_t count);
  bool reads_variable(const std::string& name) const;
  bool is_large(int32_t buffer) const;
  bool masks_loads(int32_t buffer) const;
  ir::Reg load_in_two(int32_t buffer, const Place& place, ir::Reg where);
  bool fits_narrow_index() const;
  int32_t add_buffer(const ir::BufferParam& param, Value value, int64_t scratch_bytes);
  Lowered result_;
  std::map<std::string, int64_t> arguments_;
  std::unordered_map<Value, int32_t, ValueHash> inputs_, outputs_;
  std::unordered_set<Value, ValueHash> in_place_;  // outputs that may lie where an input does
  int64_t output_bytes_ = 0;
  bool whole_vectors_ = false;  // true inside a lane loop without a tail
};

}  // namespace kb
