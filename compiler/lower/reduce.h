// The part that CPU and GPU reduction kernels share: which reductions run in which pass over memory, which values are
// written where, how a domain is cut, and the second half of a reduction in two phases.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/lower/monoid.h"
#include "compiler/lower/nest.h"

namespace kb {

class Reduce {
 public:
  Reduce(const Graph& graph, const Group& group, const Target& target);

 protected:
  // How lanes lie: along the innermost reduced dim (folded at the end); along one vector of the innermost kept dim,
  // reduced dims inside (any number of stages); or along a whole stretch of the innermost kept dim, with an array of
  // accumulators and memory walked in its own order.
  enum class Lanes : uint8_t { reduced, kept_vector, kept_stretch };
  struct Stage {
    std::vector<Monoid> monoids;  // read nothing that a later stage computes
  };
  // Local arrays that hold the parts of all monoids of a stage: [monoid][part].
  using Bank = std::vector<std::vector<ir::Local>>;
  struct Range {
    Index begin;
    Extent count;
  };
  static constexpr int64_t kStretch = 2048;  // most kept elements of one stretch

  size_t inner() const { return nest_.dims.size() - 1; }
  bool lanes_reduce() const { return lanes_ == Lanes::reduced; }
  // Kept dims that an item is one index of: all, but for the one that lanes lie along.
  Dims outer_kept() const;
  // GPU: whether threads share the elements of a result, rather than each having results of its own.
  bool shares_results() const;
  bool is_gpu() const { return cx_.target.processor == Processor::gpu; }
  int64_t outer_items() const;
  void set_outer_kept(Indices& at, const Index& item);
  bool kept_is_dynamic() const;

  // Cuts dims[0] into `most` chunks at most, where `work` elements belong to one index of it in one tile.
  void choose_chunks(int64_t work, int64_t most);
  Range range(size_t d, const Index& chunk);

  Bank make_bank(const Stage& stage, int64_t extent, ir::Storage storage = ir::Storage::register_);
  Parts load(const Bank& bank, size_t monoid, const Place& place);
  void store(const Bank& bank, size_t monoid, const Place& place, const Parts& parts);
  void initialise(const Bank& bank, const Stage& stage, const Place& place);
  void flush(const Bank& from, const Bank& to, const Stage& stage, const Place& place);
  ir::Reg element(const Monoid& monoid, const Indices& at);
  // One element of the domain goes into the parts at `place`; with one pass its full outputs are stored.
  void accumulate(const Bank& bank, const Stage& stage, const Place& place, const Indices& at,
                  const std::vector<ir::Reg>& shifts);
  Place bank_place();
  // All lanes of one accumulator as one value, by halves.
  Parts fold(const Monoid& monoid, const std::vector<ir::Local>& locals);
  // Moments' shift: the first element of the chunk, at the kept indices in at_.
  std::vector<ir::Reg> shifts_of(const Stage& stage);
  Indices first_of_chunk();

  // Results of one kept element become values; then everything on the kept domain can be written.
  void bind_results(const Stage& stage, const std::vector<Parts>& merged, const Indices& at);
  void store_kept_outputs(const Indices& at);
  void store_full_outputs(const Indices& at);
  ir::Reg reduced_count();  // elements that one result stands for, i64
  ir::Reg chunk_elements(const Index& chunk);

  // Two phases: partials[monoid][part], each [chunk][kept element].
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
  // The only stage stores the full outputs in its own pass, an element behind its accumulation: none of them follows
  // from a result.
  bool one_pass_ = false;
  bool two_phases_ = false;
  int64_t chunk_ = 0, chunks_ = 1;  // of dims[0]
  std::vector<std::vector<int32_t>> partials_;
  Indices at_;      // one index a dim, as far as the loops around have them
  Index chunk_at_;  // number of the chunk

 private:
  bool fits_shared() const;
  static void visit(Context& cx, Expression& expression, const Indices& at);
  void find_stages();
  void choose_lanes();
};

Lowered lower_reduce_alone(const Graph& graph, const Group& group, const Target& target);
// By a block's threads together where a result has enough elements, else alone.
Lowered lower_reduce_gpu(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
