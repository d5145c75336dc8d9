// The prefetching loader: one thread fills a ring of batches ahead of their use, in memory that it is handed (an arena,
// pinned pages); it allocates nothing after its construction. What a batch holds is a pure function of the step alone,
// so it depends neither on the ring's size nor on whether there is a thread at all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "data/order.h"

namespace kb {

/// Where the augmentation records of one batch go; a span is empty where nobody reads it.
struct AugmentMemory {
  std::span<int32_t> windows;   ///< rows x 3; see AugmentRecord
  std::span<int32_t> boxes;     ///< rows x 4
  std::span<int32_t> partners;  ///< rows
  std::span<float> mix;         ///< rows
};

/// Where one batch goes. Pixels are the raw values 0 to 255 in (rows, C, H, W) order, as bytes or as floats:
/// normalisation is the graph's.
struct BatchMemory {
  std::variant<std::span<uint8_t>, std::span<float>> pixels;  ///< rows x C x H x W
  std::span<int32_t> labels;                                  ///< rows
  std::span<float> weights;                                   ///< rows; see Order
  AugmentMemory augment = {};
};

/// Fills one batch. It is called for increasing steps, from one thread at a time, and must not keep state that its
/// output depends on.
using BatchFill = std::function<void(int64_t step, const BatchMemory& memory)>;

/// What happens to the samples of a batch, and where.
struct Augmentation {
  AugmentSpec spec = {};
  uint64_t seed = 0;
  std::vector<uint8_t> fill = {};  ///< of cutout, one value a channel
  bool in_loader = false;          ///< windows and boxes are applied to the pixels, their records are zero
};

/// Gathers rows [first_row, first_row + labels.size()) of each batch of `order` from `split`, which must outlive it.
/// Throws std::logic_error at the call if the memory's spans disagree in size or leave the minibatch.
BatchFill gather_rows(const Split& split, const Order& order, int64_t first_row = 0, Augmentation augmentation = {});

struct LoaderOptions {
  int64_t first_step = 0;
  int64_t end_step = INT64_MAX;  ///< one past the last
  bool prefetch = true;          ///< false: next() fills the batch itself
};

struct LoadedBatch {
  int64_t step;
  int slot;        ///< which of the slots holds it
  double wait_ms;  ///< how long next() kept its caller waiting
};

class Loader {
 public:
  /// The ring is `slots`, at least one; one slot leaves nothing to fill ahead, two suffice where filling is steady.
  Loader(BatchFill fill, std::vector<BatchMemory> slots, LoaderOptions options = {});

  /// Takes back the batch it gave before and gives that of the next step. What the fill threw for a step is thrown
  /// here at that step's turn, and again by every later call. Throws std::logic_error past the last step.
  LoadedBatch next();

 private:
  bool more(int64_t step) const { return step < options_.end_step; }
  void prefetch(const std::stop_token& stop);
  void wait_until_filled(int64_t step);
  int slot_of(int64_t step) const;

  const BatchFill fill_;
  const std::vector<BatchMemory> slots_;
  const LoaderOptions options_;

  int64_t next_step_;  // the consumer's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  int64_t filled_end_;  // steps below it are in the ring or gone
  int64_t free_end_;    // steps below it may be filled
  std::exception_ptr failure_;

  std::jthread thread_;  // last: it stops before anything it uses is destroyed
};

}  // namespace kb
