// Batches on their way into a session: memory that a loader fills, of the fields that the session's program reads, and
// the way into its inputs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "recipes/task/task.h"
#include "runtime/session.h"

namespace kb {

// How messages call the samples of a training step (SampleNames).
inline constexpr const char* kTrainingPart = "training";

class HostBatch {
 public:
  // `fields`: the task's; memory is taken for those that the program reads.
  HostBatch(const Session& session, const std::vector<Field>& fields);

  const FieldMemory& memory() const { return memory_; }
  // Fills the memory with the batch of `step`. Throws Error where an index is out of its field's range, with the
  // sample's name.
  void fill(const FieldFill& fill, int64_t step, const SampleNames& names = {});
  // Returns the values of a field, rows x bytes of a sample; empty if the program does not read it.
  std::span<std::byte> field(size_t position) { return parts_[position].bytes; }

  // Writes all into the program's inputs. Allocates nothing, as lend().
  void feed(Session& session) const;
  // Gives all to the program for its next work(). Large fields are not copied: they must stay where they are, see
  // Session::lend.
  void lend(Session& session) const;

 private:
  struct Part {
    Field field;
    std::unique_ptr<DeviceMemory> block;  // host memory that a session may be lent
    std::span<std::byte> bytes;
  };
  void copy(Session& session, bool may_lend) const;

  std::vector<Part> parts_;  // one for each field
  std::vector<float> weights_;
  std::vector<int32_t> samples_;
  FieldMemory memory_;
};

// Returns the number of batches that a training holds: those that the session reads, one for each of `loader_threads`
// to fill, and one that stands ready; one alone for a constant source.
int host_batches(const Session& training, const Source& source, int loader_threads);

}  // namespace kb
