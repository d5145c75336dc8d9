// A task: what is trained. Named input fields, a model function over them, the sources of the samples, and the graphs
// that the framework makes of these. The framework normalises nothing: it reduces over the samples after the model.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/passes/parameter_groups.h"
#include "graph/layers.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "recipes/task/loss.h"
#include "recipes/task/metric.h"
#include "recipes/task/source.h"

namespace kb {

// An input of the model, by sample.
struct Field {
  static constexpr int64_t kRows = -1;

  std::string name;          // name of the graph's input
  DType dtype = DType::f32;  // dtype of the source's values; a program of f64 takes a float field as f64
  Dims shape = {};           // shape of a sample: the input is [N, shape...]
  std::string axes = {};     // a letter for each axis of the shape; "_" names none; empty: none is named
  int64_t below =
      0;  // bound of an i32 index field: values are in [0, below), or in [0, N) for kRows; 0: no index field
  bool in_memory = false;  // the source has the field of all samples, see Source::table

  int64_t sample_bytes() const;
};

// Throws Error with the first value of an index field that is not in its range: kernels read tables by them unchecked.
// `rows`: N, for a field with kRows. For the message: `samples`, the number of each row's sample (empty: the row's
// own), and `names` of them.
void check_indices(const Field& field, std::span<const std::byte> values, int64_t rows,
                   std::span<const int32_t> samples = {}, const SampleNames& names = {});

struct Task;
// Throws Error for a field with `below` that holds no i32: the values of a float are no indices.
void check_fields(const Task& task);

// The inputs of a graph that a model function is building. An input is declared when it is first asked for.
class Inputs {
 public:
  Inputs(Graph& graph, const std::vector<Field>& fields, int64_t minibatch, DType real)
      : graph_(graph), fields_(fields), minibatch_(minibatch), real_(real) {}

  Tensor operator[](const std::string& field);  // [N, shape...]; throws Error where the task has no such field
  Tensor weights();                             // float [N]: of each sample in a sum over samples
  Tensor scalar(const std::string& name);       // float []
  Graph& graph() { return graph_; }
  DType real() const { return real_; }  // dtype of float values: f32, or f64 in a program of that precision
  bool is_training() const { return graph_.mode == Mode::training; }

 private:
  Graph& graph_;
  const std::vector<Field>& fields_;
  int64_t minibatch_;
  DType real_;
  std::vector<std::pair<std::string, Tensor>> declared_;
};

struct ModelOutput {
  Losses losses;                       // one, or several under names of their own
  std::vector<Metric> metrics;         // the first figure is the goal: what "best" and length.stop_at are about
  Tensor logits = {};                  // float [N, classes] of a classification, for build_logits_graph; else none
  std::vector<Drawing> drawings = {};  // drawn at every evaluation
};

struct Task {
  std::string name;
  std::vector<Field> fields;
  std::function<ModelOutput(Inputs&)> model;
  std::vector<Optimizer> optimizers = {};     // optimizers of its own, beside the built-in ones
  std::vector<ScheduleShape> schedules = {};  // schedules of its own
  int64_t classes = 0;           // number of classes, below which labels lie, if the loss is a cross-entropy; else 0
  std::string data = {};         // name of the data set
  std::string fingerprint = {};  // hash of its contents, hexadecimal digits; "": not known yet
  int64_t train_count = 0, test_count = 0;  // samples, as far as they are known before the sources are set
  int64_t valid_count = 0;                  // number of samples held out; 0: there are none
  bool is_noise = false;                    // true if the training part is noise: its losses mean nothing
  bool is_learnable = true;                 // false where the labels do not follow from the samples
  std::string sent_because = {};            // why a device cannot hold the data set; empty: it can
  // Set before the task is trained; a program is compiled without them. `plain`: the training part without
  // augmentation; null: as `train`. `valid`: held out (recipes/task/validation.h); null: nothing is. `test`: null where
  // `valid` alone is judged on.
  std::shared_ptr<const Source> train = nullptr, test = nullptr, plain = nullptr, valid = nullptr;
  // Reads the data and returns the task with its sources; programs are compiled meanwhile. Empty: the sources are set.
  std::function<Task()> read = {};

  std::vector<std::string> fields_in_memory() const;  // names
};

// The graph of a training step. Its inputs are the fields, "weights" float [N], and the scalars that the model asks
// for. Its output "loss" is the sum of all losses times the weights (1 / kn: the mean over the global minibatch); if
// there are several losses, each is an output of its own name too.
struct TrainingGraph {
  Graph graph;
  std::vector<Objective> objectives;  // outputs that are minimised, and the groups that they move
  std::vector<NamedMetric> metrics;   // outputs that are means over the global minibatch, by name
};
// The graph of an evaluation. Its outputs are the sums "loss" and "count" of the weights (1, or 0 for padded rows), and
// what each metric gathers.
struct InferenceGraph {
  Graph graph;
  std::vector<GatheredMetric> metrics;  // the losses last, if there are several
};

// All functions that build a graph declare it in `real`, so that in f64 no constant was ever rounded to f32. They throw
// Error, with the model's own line, where the model's values do not have N rows.
// `with_metrics`: the step gives the metrics that are means.
TrainingGraph declare_training(const Task& task, int64_t minibatch, DType real, bool with_metrics);
InferenceGraph declare_inference(const Task& task, int64_t minibatch, DType real);
Graph build_training_graph(const Task& task, int64_t minibatch, DType real = DType::f32);
Graph build_inference_graph(const Task& task, int64_t minibatch, DType real = DType::f32);

// Returns inference up to the model's logits: output "logits". Throws Error where the model gives none.
Graph build_logits_graph(const Task& task, int64_t minibatch, DType real = DType::f32);

// Returns the graph that estimates batch norm's running statistics anew. It has the inputs of inference that they
// depend on, without augmentation or dropout, and `statistics_share` (graph/layers.h); output "count". Throws Error
// where no layer has such statistics.
Graph build_statistics_graph(const Task& task, int64_t minibatch, DType real = DType::f32);

// Throws Error naming what differs unless both have the same parameters and running statistics.
void check_same_parameters(const Graph& training, const Graph& inference);

// Returns the names of the parameters on which no output depends: they never learn.
std::vector<std::string> unused_parameters(const Graph& graph);

// Elements over all parameters.
int64_t parameter_count(const Graph& graph);

}  // namespace kb
