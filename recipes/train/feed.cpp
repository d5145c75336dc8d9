#include "recipes/train/feed.h"

#include <algorithm>
#include <cstring>

namespace kb {
namespace {

// A field is lent if its batch has at least this many bytes. A smaller one is copied, which costs no more than telling
// the device the address.
constexpr size_t kLentBytes = 4096;

size_t elements(const Session& session, const std::string& input) {
  return session.has_input(input) ? static_cast<size_t>(session.input_type(input).elements()) : 0;
}

size_t bytes_of(const Session& session, const Field& field) {
  return elements(session, field.name) * static_cast<size_t>(size_of(field.dtype));
}

// Returns the samples of a program's minibatch. A program that gives no loss has no weights.
size_t samples_of(const Session& session, const std::vector<Field>& fields) {
  for (const Field& field : fields)
    if (!session.has_input("weights") && session.has_input(field.name))
      return static_cast<size_t>(session.input_type(field.name).shape[0]);
  return elements(session, "weights");
}

// Copies values of `dtype` into an input, converting them if the dtypes differ: a program of precision f64 has f64
// inputs for fields of f32.
void write(Session& session, const std::string& name, DType dtype, std::span<const std::byte> values) {
  const size_t count = values.size() / static_cast<size_t>(size_of(dtype));
  ensure(count == elements(session, name), "feed: a batch of another program");
  if (count == 0) return;
  const DType own = session.input_type(name).dtype;
  if (own == dtype) return void(std::memcpy(session.input(name), values.data(), values.size()));
  for (size_t i = 0; i < count; ++i)
    store_element(own, session.input(name), static_cast<int64_t>(i),
                  load_element(dtype, values.data(), static_cast<int64_t>(i)));
}

}  // namespace

HostBatch::HostBatch(std::span<Session* const> sessions, const std::vector<Field>& fields) : fields_(fields) {
  for (const Field& field : fields) {
    size_t bytes = 0;
    for (const Session* session : sessions) bytes = std::max(bytes, bytes_of(*session, field));
    parts_.push_back({sessions[0]->allocate_host(static_cast<int64_t>(bytes)), {}});
  }
  size_t rows = 0;
  for (const Session* session : sessions) rows = std::max(rows, samples_of(*session, fields));
  weights_.resize(rows);
  samples_.resize(rows);
  memory_.fields.resize(fields.size());
  fit(*sessions[0]);
}

void HostBatch::fit(const Session& session) {
  for (size_t f = 0; f < parts_.size(); ++f)
    memory_.fields[f] = parts_[f].bytes = {parts_[f].block->data(), bytes_of(session, fields_[f])};
  const size_t rows = samples_of(session, fields_);
  memory_.weights = std::span(weights_).first(rows);
  memory_.samples = std::span(samples_).first(rows);
}

void HostBatch::fill(const FieldFill& fill, int64_t step, const SampleNames& names) {
  fill(step, memory_);
  for (size_t f = 0; f < fields_.size(); ++f)
    check_indices(fields_[f], parts_[f].bytes, std::ssize(memory_.weights), memory_.samples, names);
}

void HostBatch::copy(Session& session, bool may_lend) const {
  for (size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    const std::span<const std::byte> bytes = parts_[f].bytes;
    const bool is_lent = may_lend && bytes.size() >= kLentBytes && session.input_type(field.name).dtype == field.dtype;
    if (!is_lent) {
      write(session, field.name, field.dtype, bytes);
      continue;
    }
    ensure(bytes.size() == bytes_of(session, field), "lend: a batch of another program");
    session.lend(field.name, parts_[f].block->data());
  }
  if (session.has_input("samples")) write(session, "samples", DType::i32, std::as_bytes(memory_.samples));
  if (session.has_input("weights")) write(session, "weights", DType::f32, std::as_bytes(memory_.weights));
}

void HostBatch::feed(Session& session) const { copy(session, false); }
void HostBatch::lend(Session& session) const { copy(session, true); }

int host_batches(const Session& training, const Source& source, int loader_threads) {
  if (source.is_constant()) return 1;
  return training.depth() + (loader_threads == 0 ? 0 : loader_threads + 1);
}

}  // namespace kb
