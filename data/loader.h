// The prefetching loader: threads fill a ring of batches ahead of their use, in memory that it is handed (an arena,
// pinned pages); it allocates nothing after its construction. What a batch holds is a pure function of the step alone,
// so it depends neither on the ring's size nor on the number of threads, none included.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "data/order.h"

namespace kb {

/// Memory that takes the augmentation records of one batch.
struct AugmentMemory {
  std::span<int32_t> windows;   ///< rows x 3; see AugmentRecord
  std::span<int32_t> boxes;     ///< rows x 4
  std::span<int32_t> partners;  ///< rows
  std::span<float> mix;         ///< rows
};

/// Memory that takes one batch; a span is empty where nobody reads it, weights excepted. Pixels are the raw values 0 to
/// 255 in (rows, C, H, W) order: normalisation is the graph's.
struct BatchMemory {
  std::span<uint8_t> pixels;  ///< rows x C x H x W
  std::span<int32_t> labels;  ///< rows
  std::span<float> weights;   ///< rows; see Order
  AugmentMemory augment = {};
  std::span<int32_t> samples = {};  ///< rows: numbers in the split, for who has its pixels and labels
};

/// Fills one batch. Several threads call it at once, each for a step of its own; it must not keep state that its output
/// depends on.
using BatchFill = std::function<void(int64_t step, const BatchMemory& memory)>;

/// Changes that the samples of a batch undergo, and whether the loader makes them or the graph.
struct Augmentation {
  AugmentSpec spec = {};
  uint64_t seed = 0;
  std::vector<uint8_t> fill = {};  ///< of cutout, one value a channel
  bool in_loader = false;          ///< windows and boxes are applied to the pixels, their records are zero
};

/// Gathers rows [first_row, first_row + weights.size()) of each batch of `order` from `split`, which must outlive it.
/// Throws std::logic_error where the order has samples that the split has not, and at a batch if the memory's spans
/// disagree in size or leave the minibatch.
BatchFill gather_rows(const Split& split, const Order& order, int64_t first_row = 0, Augmentation augmentation = {});

/// Fills slot `slot` with the batch of `step`. Several threads call it at once, each for a slot of its own.
using SlotFill = std::function<void(int64_t step, int slot)>;

struct LoaderOptions {
  int64_t first_step = 0;
  int64_t end_step = INT64_MAX;  ///< one past the last
  int threads = 1;  ///< fill batches ahead, fewer where the system makes no more; 0: next() fills the batch
  int in_use = 1;   ///< batches, the last given included, whose memory is still read
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;  ///< that the wait is told by
};

struct LoadedBatch {
  int64_t step;
  int slot;        ///< which of the slots holds it
  double wait_ms;  ///< how long next() kept its caller waiting
};

class Loader {
 public:
  /// The ring has so many slots, at least options.in_use: so many are in use, each thread fills one, and one more
  /// stands ready where filling is not steady.
  Loader(SlotFill fill, int slots, LoaderOptions options = {});

  /// Gives the batch of the next step, and takes back that of in_use steps before it. What the fill threw for a step is
  /// thrown here at that step's turn, and again by every later call. Throws std::logic_error past the last step.
  LoadedBatch next();

 private:
  bool more(int64_t step) const { return step < options_.end_step; }
  int slot_of(int64_t step) const;
  void prefetch(const std::stop_token& stop);
  int64_t claim(const std::stop_token& stop);
  void wait_until_filled(int64_t step);

  const SlotFill fill_;
  const int slots_;
  const LoaderOptions options_;

  int64_t next_step_;  // the consumer's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  int64_t claimed_end_;          // steps below it are filled, or a thread is about it
  int64_t free_end_;             // steps below it may be filled
  std::vector<int64_t> filled_;  // the step that each slot holds; -1: none
  int64_t failed_step_;          // the first that could not be filled; past the end: none
  std::exception_ptr failure_;

  std::vector<std::jthread> threads_;  // last: they stop before anything they use is destroyed
};

}  // namespace kb
