// Keeps whole data sets in the device's memory. A program then has a table for each field, from which it gathers the
// rows of a step by the samples' numbers. Without tables every batch is sent to the device. Values and bits are the
// same, but a step sends a few bytes per sample in place of its pixels.
#pragma once
#include "recipes/config/train_config.h"
#include "recipes/task/task.h"
#include "runtime/session.h"

namespace kb {

// Numbers of rows of the tables for training and for evaluation; 0 means that batches are sent.
struct Residency {
  int64_t train = 0, test = 0;
  bool is_on() const { return train > 0; }
  bool operator==(const Residency&) const = default;
};

// Returns what `choice` (arithmetic.resident) asks for. The automatic choice is a resident data set on a GPU if its
// fields take at most kResidentBytes. Throws UsageError if the choice is `on` but the task's fields do not lie in host
// memory, or cannot be on a device (Task::sent_because), or take more bytes than the device has.
Residency choose_residency(ResidentChoice choice, const Task& task, const Target& target,
                           int64_t device_bytes = INT64_MAX);
// Greatest size in bytes of a data set that becomes resident automatically: an eighth of 8 GiB, the memory of the
// smallest GPUs that are used for training. MNIST takes 55 MB, CIFAR 184 MB.
constexpr int64_t kResidentBytes = int64_t{1} << 30;
// Returns the bytes that the tables for training and evaluation take.
int64_t resident_bytes(const Task& task);

// Returns the graph with its inputs `fields` replaced: each is gathered from a table of `rows` rows by the input
// "samples", i32 [N].
Graph with_tables(const Graph& graph, const std::vector<std::string>& fields, int64_t rows);
// Fills the tables that a program has, if any, from the source, which may have fewer rows. Throws Error if the source's
// memory has another size than its samples' fields, or if an index is out of its field's range; the message names the
// sample by `part` and number.
void fill_tables(Session& session, const std::vector<Field>& fields, const Source& source, const char* part);

}  // namespace kb
