// How a reduction on a GPU is cut into blocks (compiler/lower/reduce_gpu.cpp): columns of kept elements, chunks of
// reduced ones, and how many loads a thread has under way.
#pragma once
#include "compiler/lower/product.h"
#include "compiler/lower/reduce.h"

namespace kb {

inline constexpr int64_t kWideThreads = 512;  // threads of a wide block, which is alone on its multiprocessor
inline constexpr int64_t kWarp = 32;          // threads that execute together; the least a block has

class ReduceTiles : protected Reduce {
 public:
  ReduceTiles(const Graph& graph, const Group& group, const Target& target);

  bool fits() const { return shares_results(); }

  // Returns whether wide blocks are worth it: for chunks of columns that are at least a batch long, if tiles are few
  // enough to give each multiprocessor an even share of the chunks.
  bool fits_wide() const;

  // Returns how many threads a block should have: so many that each has kRowVectors vectors if a block reduces one row,
  // else the target's. A thread without a vector takes the place of another block's, and adds a barrier to the sum.
  int64_t suitable_threads() const;

 protected:
  int64_t threads() const { return cx_.target.block_threads; }
  bool is_wide() const { return threads() == kWideThreads; }
  bool has_product() const { return cx_.group.product >= 0; }
  int64_t groups() const { return threads() / columns_; }  // number of threads that have the same columns
  // Returns how many rounds a thread has under way at once: kLoads loads, or kWideBytes bytes, where each round loads
  // every large input once; one round where it gathers, which is several loads.
  int32_t unroll() const;

  int64_t tiles_ = 1;    // blocks that have different results
  int64_t columns_ = 1;  // vectors of kept elements of a block

  int64_t stretches_ = 1;  // blocks along the innermost kept dim
  // Returns how many elements of a result one index of dims[0] has if that is cut into chunks, else all of them.
  int64_t reduced_in_index() const;

 private:
  bool has_node(bool (*is)(Op)) const;
  bool gathers() const;          // whether an element is gathered from windows
  bool takes_registers() const;  // whether an element takes many registers
  void choose_tiles();
  void choose_chunks_of_blocks();
  void choose_chunks_of_product();
  // Enlarges chunks to whole batches if more than half of a batch is left over: rounds after a thread's last batch wait
  // for memory one by one, and many of them take longer than a batch does.
  void fill_batches();
  // Returns how many elements of each of its columns a block has under way at once.
  int64_t batch() const { return groups() * unroll(); }
  // Returns how many blocks run at once. Target::max_partials is three for each multiprocessor; a third accumulator
  // takes the registers of the third block.
  int64_t blocks_at_once() const;
};

}  // namespace kb
