#include "recipes/feed.h"

#include <cstring>

namespace kb {
namespace {

void copy(Session& session, const char* name, const void* data, size_t bytes) {
  if (!session.has_input(name)) return;
  ensure(static_cast<int64_t>(bytes) == session.input_type(name).bytes(),
         "feed: a batch of another size than the input");
  std::memcpy(session.input(name), data, bytes);
}

// Weights are f32 or, in a program of --precision f64, f64.
void convert(Session& session, const char* name, const std::vector<float>& values) {
  if (!session.has_input(name)) return;
  const Type& type = session.input_type(name);
  ensure(static_cast<int64_t>(values.size()) == type.elements(), "feed: a batch of another size than the input");
  for (size_t i = 0; i < values.size(); ++i)
    store_element(type.dtype, session.input(name), static_cast<int64_t>(i), static_cast<double>(values[i]));
}

}  // namespace

HostBatch::HostBatch(int64_t rows, const ImageShape& shape)
    : pixels(static_cast<size_t>(rows * shape.size())),
      labels(static_cast<size_t>(rows)),
      weights(static_cast<size_t>(rows)),
      windows(static_cast<size_t>(rows) * 3),
      boxes(static_cast<size_t>(rows) * 4),
      partners(static_cast<size_t>(rows)),
      mix(static_cast<size_t>(rows), 1.0f) {}

void fill_with_noise(HostBatch& batch, int64_t classes, double weight) {
  uint32_t word = 1;
  for (uint8_t& pixel : batch.pixels) pixel = static_cast<uint8_t>((word = word * 1664525u + 1013904223u) >> 24);
  for (size_t i = 0; i < batch.labels.size(); ++i)
    batch.labels[i] = static_cast<int32_t>(static_cast<int64_t>(i) % classes);
  for (float& sample_weight : batch.weights) sample_weight = static_cast<float>(weight);
}

void feed(Session& session, const HostBatch& batch) {
  copy(session, "images", batch.pixels.data(), batch.pixels.size());
  copy(session, "labels", batch.labels.data(), batch.labels.size() * sizeof(int32_t));
  convert(session, "weights", batch.weights);
  copy(session, "augment.window", batch.windows.data(), batch.windows.size() * sizeof(int32_t));
  copy(session, "augment.box", batch.boxes.data(), batch.boxes.size() * sizeof(int32_t));
  copy(session, "augment.partner", batch.partners.data(), batch.partners.size() * sizeof(int32_t));
  convert(session, "augment.mix", batch.mix);
}

}  // namespace kb
