// Reduce is the part that CPU and GPU reduction kernels share: which reductions run in which pass over memory, which
// values are written where, how a domain is cut, and the second half of a reduction in two phases.
#pragma once
#include <vector>

#include "compiler/lower/monoid.h"
#include "compiler/lower/nest.h"

namespace kb {

class Reduce {
 public:
  Reduce(const Graph& graph, const Group& group, const Target& target);

 protected:
  // Lanes lie along the innermost reduced dim (and are folded at the end), along one vector of the innermost kept dim
  // with the reduced dims inside (for any number of passes), or along a whole stretch of the innermost kept dim, with
  // an array of accumulators and memory walked in its own order.
  enum class Lanes : uint8_t { reduced, kept_vector, kept_stretch };
  struct Stage {
    std::vector<Monoid> monoids;  // reductions that need only results of earlier stages
  };
  // Local arrays that hold the parts of all monoids of a stage: [monoid][part].
  using Bank = std::vector<std::vector<ir::Local>>;
  // The part of a dim that a chunk covers.
  struct Range {
    Index begin;
    Extent count;
  };
  static constexpr int64_t kStretch = 2048;  // most kept elements of one stretch

  size_t inner() const { return nest_.dims.size() - 1; }
  bool lanes_reduce() const { return lanes_ == Lanes::reduced; }
  // Returns the extents of all kept dims except the one that lanes lie along; an item has one index of each.
  Dims outer_kept() const;
  // Returns whether a GPU's threads share the elements of a result, rather than each having results of its own.
  bool shares_results() const;
  bool is_gpu() const { return cx_.target.processor == Processor::gpu; }
  int64_t outer_items() const;
  void set_outer_kept(Indices& at, const Index& item);
  bool kept_is_dynamic() const;

  // Cuts dims[0] into `most` chunks at most; `work` is the number of elements that a tile has at one index of dims[0].
  void choose_chunks(int64_t work, int64_t most);
  Range range(size_t d, const Index& chunk);

  Bank make_bank(const Stage& stage, int64_t extent, ir::Storage storage = ir::Storage::register_);
  Parts load(const Bank& bank, size_t monoid, const Place& place);
  void store(const Bank& bank, size_t monoid, const Place& place, const Parts& parts);
  void initialise(const Bank& bank, const Stage& stage, const Place& place);
  void flush(const Bank& from, const Bank& to, const Stage& stage, const Place& place);
  ir::Reg element(const Monoid& monoid, const Indices& at);
  // Adds one element of the domain to the parts at `place`; with one pass it also stores the full outputs there.
  void accumulate(const Bank& bank, const Stage& stage, const Place& place, const Indices& at,
                  const std::vector<ir::Reg>& shifts);
  Place bank_place();
  // Combines all lanes of one accumulator into one value, by halves.
  Parts fold(const Monoid& monoid, const std::vector<ir::Local>& locals);
  // Returns moments' shift, the first element of the chunk at the kept indices in at_; kNone for other reductions.
  std::vector<ir::Reg> shifts_of(const Stage& stage);
  Indices first_of_chunk();

  // Makes the results of one kept element known as values, from which the outputs on the kept domain can be computed.
  void bind_results(const Stage& stage, const std::vector<Parts>& merged, const Indices& at);
  void store_kept_outputs(const Indices& at);
  void store_full_outputs(const Indices& at);
  ir::Reg reduced_count();  // number of elements reduced into one result, i64
  ir::Reg chunk_elements(const Index& chunk);

  // Makes the scratch buffers of two phases: partials_[monoid][part], each of shape [chunk][kept element].
  void make_partials();
  Index partial_position(const Index& chunk, const Index& kept);
  void store_partial(size_t monoid, const Parts& closed, const Index& chunk, const Indices& at);
  Parts partial(size_t monoid, const Index& chunk, const Index& kept);
  void merge_into(const Bank& bank, const Stage& stage, const Place& place, const std::vector<Parts>& right,
                  ir::Reg left_count, ir::Reg right_count);
  // Merges the chunks of the kept element at `position` in their order, and finishes it.
  void merge_chunks(const Index& position);

  Context cx_;
  Expression expression_;
  Nest nest_;
  Lanes lanes_ = Lanes::reduced;
  std::vector<Stage> stages_;
  std::vector<Value> kept_outputs_, full_outputs_;
  // True if the only stage stores full outputs in its own pass, each right after its element is accumulated: none of
  // them depends on a result.
  bool one_pass_ = false;
  bool two_phases_ = false;
  int64_t chunk_ = 0, chunks_ = 1;  // extent of a chunk of dims[0], number of chunks
  std::vector<std::vector<int32_t>> partials_;
  Indices at_;      // one index for each dim, as far as the loops around have set them
  Index chunk_at_;  // number of the chunk

 private:
  bool fits_shared() const;
  static void visit(Context& cx, Expression& expression, const Indices& at);
  void find_stages();
  bool has_several_passes() const;  // whether the elements of a result are read more than once
  void choose_lanes();
};

Lowered lower_reduce_alone(const Graph& graph, const Group& group, const Target& target);
// Lowers to a kernel in which a block's threads reduce a result together if it has enough elements, else each alone.
Lowered lower_reduce_gpu(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
