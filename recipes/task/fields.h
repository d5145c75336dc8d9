// The input fields of a task, and the inputs of the graphs that its model function builds.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/functions.h"
#include "recipes/task/source.h"

namespace kb {

// An input of the model, which has a value for each sample.
struct Field {
  static constexpr int64_t kRows = -1;
  static constexpr int64_t kLength = -1;

  std::string name;          // name of the graph's input
  DType dtype = DType::f32;  // dtype of the source's values; a program in f64 takes a float field as f64
  // Shape for one sample: the graph's input is [N, shape...]. kLength in place of the first extent makes the field
  // ragged: its samples differ in that extent, and are padded with zeros to the length of their minibatch's bucket. A
  // ragged field NAME has a field length_field(NAME) beside it.
  Dims shape = {};
  std::string axes = {};  // one letter per axis of the shape, "_" for an axis without a name; empty: no axis has one
  // Bound of an index field, whose dtype is i32: its values are in [0, below), or in [0, N) if it is kRows. 0: the
  // field holds no indices.
  int64_t below = 0;
  bool in_memory = false;  // whether the source holds the values of all samples in memory (Source::table)

  bool is_ragged() const { return !shape.empty() && shape[0] == kLength; }
  int64_t sample_bytes(int64_t length = 0) const;  // `length`: that of a ragged field
};

// Return the fields of a sequence of i32 values in [0, below): the ragged field itself, and one with its lengths.
Field ragged_field(std::string name, int64_t below);
Field length_field(const std::string& name);

// Shape of a minibatch: its samples, the length to which ragged fields are padded, and the equal pieces, each computed
// by itself, in which a sample of a task with Task::sequence is computed.
struct BatchShape {
  BatchShape(int64_t samples, int64_t length = 0, int64_t pieces = 1)
      : samples(samples), length(length), pieces(pieces) {}

  int64_t samples;
  int64_t length;  // 0: that of the task (Task::length)
  int64_t pieces;
};

// Throws Error, which names the task and the field, for a name that two fields have or that is empty, kWeights or
// kLabelSmoothing; for an extent below 1; for an index field (Field::below) that is not i32, or whose bound is negative
// and not kRows; and for a ragged field without one of its lengths.
void check_fields(const std::string& task, const std::vector<Field>& fields);

// Throws Error, which names the task, unless samples of so many positions (Task::sequence) can be computed in so many
// pieces.
void check_pieces(const std::string& task, int64_t positions, int64_t pieces);

// Throws Error, which names the value and its sample, if a value of an index field is out of range: kernels use indices
// without a check. `rows` is N. The message numbers the sample of a row by `samples`, or by the row itself if that is
// empty, and names it by `names`.
void check_indices(const Field& field, std::span<const std::byte> values, int64_t rows,
                   std::span<const int32_t> samples = {}, const SampleNames& names = {});

// Scalar input in [0, 1): the share of the target that is spread over all classes (learning.label_smoothing); 0 in
// evaluation. A task whose loss is a cross-entropy asks for it by Inputs::scalar.
inline constexpr const char* kLabelSmoothing = "label_smoothing";
// Input of every graph, which Inputs::weights returns.
inline constexpr const char* kWeights = "weights";

// The name of a field, and where a model asks for it.
struct FieldName {
  FieldName(const char* name, Where where = Where::current()) : text(name), where(where) {}
  FieldName(std::string name, Where where = Where::current()) : text(std::move(name)), where(where) {}
  std::string text;
  Where where;
};

// The inputs of the graph that a model function builds. An input is declared when it is first asked for, so that a
// graph has only the inputs that its model asks for.
class Inputs {
 public:
  Inputs(Graph& graph, const std::vector<Field>& fields, BatchShape batch, DType real)
      : graph_(graph), fields_(fields), batch_(batch), real_(real) {}

  Tensor operator[](const FieldName& field);  // [N, shape...]; throws Error if the task has no such field
  Tensor length(const FieldName& field);      // i32 [N]: the lengths of a ragged field's samples
  Tensor weights();                           // float [N]: weight of each sample in sums over the samples
  // float [], which does not depend on the sample. Throws Error for another name than kLabelSmoothing: an evaluation
  // would read 0 there. A number that stays is a constant of the model, and one that each step moves a state.
  Tensor scalar(const std::string& name, Where where = Where::current());
  int64_t pieces() const { return batch_.pieces; }  // in which each sample is computed
  Graph& graph() { return graph_; }
  DType real() const { return real_; }  // dtype of float values: f64 in a program of this precision, else f32
  bool is_training() const { return graph_.mode == Mode::training; }

 private:
  Graph& graph_;
  const std::vector<Field>& fields_;
  BatchShape batch_;
  DType real_;
  std::vector<std::pair<std::string, Tensor>> declared_;
};

}  // namespace kb
