#include "recipes/train/feed.h"

#include <cstring>

namespace kb {
namespace {

size_t elements(const Session& session, const char* input) {
  return session.has_input(input) ? static_cast<size_t>(session.input_type(input).elements()) : 0;
}

template <class Values>
void copy(Session& session, const char* name, const Values& values) {
  ensure(values.size() == elements(session, name), "feed: a batch of another program");
  if (!values.empty()) std::memcpy(session.input(name), values.data(), values.size() * sizeof(values[0]));
}

// Weights are f32 or, in a program of --precision f64, f64.
void convert(Session& session, const char* name, const std::vector<float>& values) {
  ensure(values.size() == elements(session, name), "feed: a batch of another program");
  if (values.empty()) return;
  const Type& type = session.input_type(name);
  for (size_t i = 0; i < values.size(); ++i)
    store_element(type.dtype, session.input(name), static_cast<int64_t>(i), static_cast<double>(values[i]));
}

// All but the pixels: some bytes a sample.
void copy_small(Session& session, const HostBatch& batch) {
  copy(session, "labels", batch.labels);
  copy(session, "samples", batch.samples);
  convert(session, "weights", batch.weights);
  copy(session, "augment.window", batch.windows);
  copy(session, "augment.box", batch.boxes);
  copy(session, "augment.partner", batch.partners);
  convert(session, "augment.mix", batch.mix);
}

}  // namespace

HostBatch::HostBatch(const Session& session)
    : block(session.allocate_host(static_cast<int64_t>(elements(session, "images")))),
      pixels(reinterpret_cast<uint8_t*>(block->data()), elements(session, "images")),
      labels(elements(session, "labels")),
      samples(elements(session, "samples")),
      weights(elements(session, "weights")),
      windows(elements(session, "augment.window")),
      boxes(elements(session, "augment.box")),
      partners(elements(session, "augment.partner")),
      mix(elements(session, "augment.mix"), 1.0f) {}

void fill_with_noise(HostBatch& batch, int64_t classes, double weight) {
  uint32_t word = 1;
  for (uint8_t& pixel : batch.pixels) pixel = static_cast<uint8_t>((word = word * 1664525u + 1013904223u) >> 24);
  for (size_t i = 0; i < batch.labels.size(); ++i)
    batch.labels[i] = static_cast<int32_t>(static_cast<int64_t>(i) % classes);
  for (float& sample_weight : batch.weights) sample_weight = static_cast<float>(weight);
}

void feed(Session& session, const HostBatch& batch) {
  copy(session, "images", batch.pixels);
  copy_small(session, batch);
}

void lend(Session& session, const HostBatch& batch) {
  ensure(batch.pixels.size() == elements(session, "images"), "lend: a batch of another program");
  if (!batch.pixels.empty()) session.lend("images", batch.block->data());
  copy_small(session, batch);
}

}  // namespace kb
