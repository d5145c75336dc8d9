#include "recipes/train/feed.h"

#include <cstring>

namespace kb {
namespace {

// A field is lent if its batch has at least this many bytes. A smaller one is copied, which costs no more than telling
// the device the address.
constexpr size_t kLentBytes = 4096;

size_t elements(const Session& session, const std::string& input) {
  return session.has_input(input) ? static_cast<size_t>(session.input_type(input).elements()) : 0;
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

HostBatch::HostBatch(const Session& session, const std::vector<Field>& fields)
    : weights_(samples_of(session, fields)), samples_(weights_.size()) {
  for (const Field& field : fields) {
    const size_t bytes = elements(session, field.name) * static_cast<size_t>(size_of(field.dtype));
    Part part{field, session.allocate_host(static_cast<int64_t>(bytes)), {}};
    part.bytes = {part.block->data(), bytes};
    memory_.fields.push_back(part.bytes);
    parts_.push_back(std::move(part));
  }
  memory_.weights = weights_;
  memory_.samples = samples_;
}

void HostBatch::fill(const FieldFill& fill, int64_t step, const SampleNames& names) {
  fill(step, memory_);
  for (const Part& part : parts_)
    check_indices(part.field, part.bytes, static_cast<int64_t>(weights_.size()), samples_, names);
}

void HostBatch::copy(Session& session, bool may_lend) const {
  for (const Part& part : parts_) {
    const bool is_lent =
        may_lend && part.bytes.size() >= kLentBytes && session.input_type(part.field.name).dtype == part.field.dtype;
    if (!is_lent) {
      write(session, part.field.name, part.field.dtype, part.bytes);
      continue;
    }
    ensure(part.bytes.size() == elements(session, part.field.name) * static_cast<size_t>(size_of(part.field.dtype)),
           "lend: a batch of another program");
    session.lend(part.field.name, part.block->data());
  }
  if (session.has_input("samples")) write(session, "samples", DType::i32, std::as_bytes(std::span(samples_)));
  if (session.has_input("weights")) write(session, "weights", DType::f32, std::as_bytes(std::span(weights_)));
}

void HostBatch::feed(Session& session) const { copy(session, false); }
void HostBatch::lend(Session& session) const { copy(session, true); }

int host_batches(const Session& training, const Source& source, int loader_threads) {
  if (source.is_constant()) return 1;
  return training.depth() + (loader_threads == 0 ? 0 : loader_threads + 1);
}

}  // namespace kb
