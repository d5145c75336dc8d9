// Batches on their way into a session: memory that a loader fills, of what the session's program reads, and the way
// into its inputs.
#pragma once
#include <vector>

#include "data/loader.h"
#include "runtime/session.h"

namespace kb {

struct HostBatch {
  explicit HostBatch(const Session& session);
  BatchMemory memory() { return {pixels, labels, weights, {windows, boxes, partners, mix}, samples}; }

  std::unique_ptr<DeviceMemory> block;  // of the pixels: what a session may be lent
  std::span<uint8_t> pixels;
  std::vector<int32_t> labels, samples;
  std::vector<float> weights;
  std::vector<int32_t> windows, boxes, partners;  // see AugmentMemory
  std::vector<float> mix;
};

// Noise for pixels, every class in turn, equal weights, zero records.
void fill_with_noise(HostBatch& batch, int64_t classes, double weight);

// Into the inputs of recipes/task/model.h, recipes/task/augment.h and recipes/train/residency.h. Allocates nothing.
void feed(Session& session, const HostBatch& batch);
// Does as feed(), for the next work() alone. The pixels stay where they are, and must stay there: see Session::lend.
void lend(Session& session, const HostBatch& batch);

}  // namespace kb
