// Data sets that live on the device whole: fields are tables of a program, which gathers the rows of a step
// by the numbers of its samples where batches are sent otherwise. Same values, same bits; a step sends some bytes a
// sample in place of its pixels.
#pragma once
#include "recipes/config/train_config.h"
#include "recipes/task/task.h"
#include "runtime/session.h"

namespace kb {

// Numbers of rows of the tables of the training and of the evaluation; 0 means that batches are sent.
struct Residency {
  int64_t train = 0, test = 0;
  bool is_on() const { return train > 0; }
  bool operator==(const Residency&) const = default;
};

// Follows `choice` (arithmetic.resident); automatic: resident on a GPU, if the fields take at most kResidentBytes.
// Throws UsageError for what "on" cannot be: a task whose fields are in no memory (Task::sent_because), and more bytes
// than the device has.
Residency choose_residency(ResidentChoice choice, const Task& task, const Target& target,
                           int64_t device_bytes = INT64_MAX);
// Bytes of a data set that is put on the device by itself: an eighth of the smallest devices with which one trains, of
// 8 GB. MNIST takes 55 MB, CIFAR 184 MB.
constexpr int64_t kResidentBytes = int64_t{1} << 30;
// Returns the bytes that the fields of both parts take.
int64_t resident_bytes(const Task& task);

// Returns the graph with the inputs `fields` gathered from tables of `rows` rows by the input "samples" i32 [N].
Graph with_tables(const Graph& graph, const std::vector<std::string>& fields, int64_t rows);
// Fills the tables that a program has, if any, from the source, which may have fewer rows. Throws Error where the
// source has other values, and for an index out of its field's range, with the sample's number in `part`.
void fill_tables(Session& session, const std::vector<Field>& fields, const Source& source, const char* part);

}  // namespace kb
