// ReduceTogether writes a kernel in which the threads of a block reduce results together. Its parts are in
// reduce_gpu.cpp, which says how it works, reduce_product.cpp and reduce_merge.cpp.
#pragma once
#include <optional>

#include "compiler/lower/reduce_tiles.h"

namespace kb {

class ReduceTogether : public ReduceTiles {
 public:
  ReduceTogether(const Graph& graph, const Group& group, const Target& target);
  Lowered lower();

 private:
  // ---- who has what ----
  void choose_columns(const Index& tile);
  Index quotient(const Index& tile, const std::string& name, int64_t divisor);
  Index remainder(const Index& tile, const std::string& name, int64_t divisor);
  // Writes body in a lane loop over the thread's own columns, if it has any; at_ gets their index.
  void own_columns(const Index& thread, const std::function<void()>& body);
  // Writes body for the thread's share of the reduced elements (of the chunk), in a lane loop if lanes reduce; at_ gets
  // the reduced indices.
  void own_elements(const Index& thread, const std::function<void()>& body);
  ir::Reg vectors_of(const Extent& count, size_t d);
  void each_thread(const std::function<void(const Index&)>& body);
  void each_element(const std::function<void()>& body);
  // ---- one stage ----
  Bank lower_stage(const Stage& stage);
  void sum_row(const Stage& stage, const Bank& own, const Index& thread);
  void sum_columns(const Stage& stage, const Bank& own, const Index& thread);
  // ---- one stage over the tiles of a product (reduce_product.cpp) ----
  void sum_tiles(const Stage& stage, const Bank& own);
  void sum_tile(const Stage& stage, const Bank& own, const Index& thread, const Indices& begins, const Index& first,
                ir::Reg valid);
  Dims row_shape() const;
  std::vector<ir::Reg> shifts_of(const Stage& stage);

  void by_halves(const Bank& own, const Bank& shared, const std::function<void(const Index&, int64_t)>& step);
  void copy(const Bank& own, const Bank& shared, const Place& to);
  Place column_place(const Index& thread);
  std::vector<Parts> closed_parts(const Stage& stage, const Bank& shared, const Place& place);
  void finish_row(const Stage& stage, const Bank& shared);
  void bind_slots(size_t s);
  void finish_column(const Stage& stage, const Bank& shared, const Index& thread);
  // ---- all chunks (reduce_merge.cpp) ----
  void merge_all(const Bank& shared);
  // Writes body for the results that a thread merges: its columns, or the one that a row has.
  void own_results(const Index& thread, const std::function<void()>& body);
  Place result_place(const Index& thread);
  void merge_run(const Stage& stage, const Bank& own, const ir::Local& elements, const Index& thread);
  ir::Reg elements_before(ir::Reg chunk);
  void merge_some(const Stage& stage, const Bank& own, const Index& kept, ir::Reg first, ir::Reg begin, ir::Reg end,
                  int64_t count);
  static int64_t partial_bytes(const Stage& stage);
  void merge_halves(const Stage& stage, const Bank& own, const Bank& shared, const ir::Local& elements,
                    const Index& thread, int64_t distance);

  // A stage whose results are in block storage.
  struct Slot {
    const Stage* stage;
    Bank shared;
  };
  Index stretch_begin_;
  std::vector<Slot> slots_;
  std::optional<Product> product_;
  std::vector<ir::Local> first_;  // shifts of a product's moments, by monoid
};

}  // namespace kb
