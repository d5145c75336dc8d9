// Host memory for a batch, which a loader fills with the fields that a session's program reads, and which is then
// copied or lent to the program's inputs.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "recipes/task/task.h"
#include "runtime/session.h"

namespace kb {

// Name of the training part in messages about its samples (SampleNames).
inline constexpr const char* kTrainingPart = "training";

class HostBatch {
 public:
  // `fields` are those of the task; memory is allocated for the ones that the programs read, as much as the largest
  // needs. The batch takes the shapes of the first program.
  HostBatch(std::span<Session* const> sessions, const std::vector<Field>& fields);
  HostBatch(Session& session, const std::vector<Field>& fields) : HostBatch(std::array{&session}, fields) {}
  // Takes the shapes of another of these programs, for the next fill() and feed() or lend().
  void fit(const Session& session);

  const FieldMemory& memory() const { return memory_; }
  // Fills the memory with the batch of `step`. Throws Error, with the sample's name, if an index is out of its field's
  // range.
  void fill(const FieldFill& fill, int64_t step, const SampleNames& names = {});
  // Returns the bytes of a field, one row after another; empty if the program does not read the field.
  std::span<std::byte> field(size_t position) { return parts_[position].bytes; }

  // Copies the batch into the program's inputs. Like lend(), it allocates nothing.
  void feed(Session& session) const;
  // Gives the batch to the program for its next work(). Large fields are lent, not copied: this object must then keep
  // them unchanged for as long as Session::lend says.
  void lend(Session& session) const;

 private:
  struct Part {
    std::unique_ptr<DeviceMemory> block;  // host memory that may be lent to a session
    std::span<std::byte> bytes;           // begin of the block
  };
  void copy(Session& session, bool may_lend) const;

  std::vector<Field> fields_;
  std::vector<Part> parts_;  // one for each field
  std::vector<float> weights_;
  std::vector<int32_t> samples_;
  FieldMemory memory_;
};

// Returns the number of batches in host memory that a training needs: those that the session may still read, one for
// each of `loader_threads` to fill, and one that is ready (none with 0 threads). A constant source needs one batch in
// all.
int host_batches(const Session& training, const Source& source, int loader_threads);

}  // namespace kb
