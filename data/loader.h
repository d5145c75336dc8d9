// The prefetching loader. Threads fill a ring of batches before they are used, in memory that the caller gives (an
// arena, pinned pages). The loader allocates nothing after its construction. What a batch holds depends on the step
// alone, and not on the size of the ring or the number of threads, which may be 0.
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

/// Memory for the augmentation records of one batch.
struct AugmentMemory {
  std::span<int32_t> windows;   ///< rows x 3, as AugmentRecord::window
  std::span<int32_t> boxes;     ///< rows x 4, as AugmentRecord::box
  std::span<int32_t> partners;  ///< rows: the row that mixup adds, see mix_partner()
  std::span<float> mix;         ///< rows: AugmentRecord::mix
};

/// Memory for one batch. A span other than `weights` may be empty: then nobody reads it. Pixels are bytes in (rows, C,
/// H, W) order; the graph normalises them.
struct BatchMemory {
  std::span<uint8_t> pixels;  ///< rows x C x H x W
  std::span<int32_t> labels;  ///< rows: class of each sample
  std::span<float> weights;   ///< rows: OrderRow::weight
  AugmentMemory augment = {};
  /// Number in the split of each row's sample, for a reader that has the pixels and labels itself.
  std::span<int32_t> samples = {};
};

/// Fills the memory of one batch. Several threads call it at once, each for another step; its output depends on the
/// step alone.
using BatchFill = std::function<void(int64_t step, const BatchMemory& memory)>;

/// The changes that the samples of a batch undergo, and whether the loader or the graph makes them.
struct Augmentation {
  AugmentSpec spec = {};
  uint64_t seed = 0;
  std::vector<uint8_t> fill = {};  ///< colour of cutout, one value a channel
  bool in_loader = false;  ///< true: the loader applies windows and boxes to the pixels, and their records are zero
};

/// Returns a fill that gathers rows [first_row, first_row + weights.size()) of each batch of `order` from `split`,
/// which must outlive it. Throws std::logic_error when `order` has samples that `split` lacks. The fill throws it when
/// the memory's spans disagree in size or leave the minibatch.
BatchFill gather_rows(const Split& split, const Order& order, int64_t first_row = 0, Augmentation augmentation = {});

/// Fills slot `slot` with the batch of `step`. Several threads call it at once, each for another slot.
using SlotFill = std::function<void(int64_t step, int slot)>;

struct LoaderOptions {
  int64_t first_step = 0;
  int64_t end_step = INT64_MAX;  ///< one after the last step
  int threads = 1;               ///< the most threads that fill batches ahead; 0: next() fills the batch
  int in_use = 1;                ///< number of batches, the last one given included, whose memory is still read
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;  ///< clock that measures the wait
};

struct LoadedBatch {
  int64_t step;
  int slot;        ///< the slot that holds the batch
  double wait_ms;  ///< milliseconds that next() waited for the batch
};

class Loader {
 public:
  /// Makes a ring of `slots` slots, at least options.in_use. A good number is in_use, one for each thread to fill, and
  /// one that is ready when filling is not steady.
  Loader(SlotFill fill, int slots, LoaderOptions options = {});

  /// Returns the batch of the next step, and takes back that of in_use steps before. If the fill threw for a step,
  /// next() throws the same at that step's turn and at every later call. Throws std::logic_error after the last step.
  LoadedBatch next();

 private:
  bool more(int64_t step) const { return step < options_.end_step; }
  int slot_of(int64_t step) const;
  void fill(int64_t step);
  void prefetch(const std::stop_token& stop);
  int64_t claim(const std::stop_token& stop);
  void wait_until_filled(int64_t step);

  const SlotFill fill_;
  const int slots_;
  const LoaderOptions options_;

  int64_t next_step_;  // used by the caller of next() alone

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  int64_t claimed_end_;          // a thread has filled, or is filling, each step below it
  int64_t free_end_;             // steps below it may be filled
  std::vector<int64_t> filled_;  // the step that each slot holds; -1: it holds none
  int64_t failed_step_;          // the first step that could not be filled; the end or more: there is none
  std::exception_ptr failure_;

  std::vector<std::jthread> threads_;  // destroyed first, since the threads use the members above
};

}  // namespace kb
