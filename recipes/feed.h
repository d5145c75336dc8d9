// Batches on their way into a session: memory that a loader fills, and the copy into a program's inputs.
#pragma once
#include <vector>

#include "data/loader.h"
#include "runtime/session.h"

namespace kb {

struct HostBatch {
  HostBatch(int64_t rows, const ImageShape& shape);
  BatchMemory memory() { return {std::span<uint8_t>(pixels), labels, weights, {windows, boxes, partners, mix}}; }

  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
  std::vector<float> weights;
  std::vector<int32_t> windows, boxes, partners;  // see AugmentMemory
  std::vector<float> mix;
};

// Noise for pixels, every class in turn, equal weights, zero records.
void fill_with_noise(HostBatch& batch, int64_t classes, double weight);

// Into the inputs "images", "labels", "weights" and those of recipes/augment.h; one that the program does not read is
// passed over. Allocates nothing.
void feed(Session& session, const HostBatch& batch);

}  // namespace kb
