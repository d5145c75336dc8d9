// A task is all that is trained: named input fields, a model function over them, and the sources of the samples. The
// framework builds graphs of training and evaluation from it. The framework does not normalise the fields; it reduces
// the model's values over the samples.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/passes/parameter_groups.h"
#include "graph/layers.h"
#include "graph/tensor.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "recipes/task/fields.h"
#include "recipes/task/model_output.h"
#include "recipes/task/source.h"

namespace kb {

struct SequenceModel;
class DecoderStep;

// Returns logits [rows x T, vocabulary] of the token behind each that is read (recipes/task/sequence_model.h).
using NextToken = std::function<Tensor(DecoderStep&)>;

struct Task {
  std::string name;
  std::vector<Field> fields;
  std::function<ModelOutput(Inputs&)> model;
  std::vector<Optimizer> optimizers = {};     // optimizers that the task adds to the built-in ones
  std::vector<ScheduleShape> schedules = {};  // schedules that the task adds to the built-in ones
  int64_t classes = 0;           // if the loss is a cross-entropy, the number of classes: labels are below it; else 0
  std::string data = {};         // name of the data set
  std::string note = {};         // lines that say what a person should know of the data; empty: none
  std::string fingerprint = {};  // hash of the data's contents in hexadecimal digits; "" if it is not known yet
  int64_t train_count = 0, test_count = 0;  // numbers of samples; may be set before the sources are
  int64_t length = 0;    // of ragged fields in programs that are made without the data; 0: the task has no ragged field
  int64_t sequence = 0;  // positions of a sample, which the model can compute in equal pieces (Inputs::pieces); 0: none
  int64_t valid_count = 0;        // number of training samples that are held out; 0: none are
  bool is_noise = false;          // whether the training part is noise, so that its losses mean nothing
  bool is_learnable = true;       // whether the labels can be learnt from the samples
  std::string sent_because = {};  // reason why the data set cannot live on a device; empty: it can
  // The parts of the data, which must be set before the task is trained; programs are compiled without them. `plain` is
  // the training part without augmentation (null: `train` is used), `valid` the part that a
  // training is judged by before its end, its own or the held-out part of recipes/task/validation.h (null: the test
  // part judges it), `test` may be null if there is `valid`.
  std::shared_ptr<const Source> train = nullptr, test = nullptr, plain = nullptr, valid = nullptr;
  std::shared_ptr<const SequenceModel> sequences = nullptr;  // how the model writes sequences; null: it does not
  NextToken next_token = {};  // how a language model goes on, token by token; empty: by its logits of a whole sample
  // Reads the data and returns the task with its sources, while programs are compiled. Empty: the sources are set.
  std::function<Task()> read = {};

  std::vector<std::string> fields_in_memory() const;  // names of the fields with Field::in_memory
  bool is_ragged() const;                             // whether a field is ragged
};

// The graph of a training step on batch.samples = N samples. Its inputs are "weights" float [N] and the fields and
// scalars that the model asks for. Its output "loss" is the sum over samples and losses of loss times weight; with the
// weights 1 / kn it adds up to the mean over the global minibatch. Several losses are also outputs under their own
// names. A loss with a count (Loss::count) has it as an output beside it, by which the compiler divides it.
struct TrainingGraph {
  Graph graph;
  std::vector<Objective> objectives;  // outputs that are minimised, and the groups of parameters that they move
  std::vector<NamedMetric> metrics;   // names and kinds of the outputs that are means over the global minibatch
};
// The graph of an evaluation. The weights are 1, or 0 for rows that only pad the last batch. Its outputs are those of
// the loss, "count", the sum of the weights, and the values of every metric and drawing.
struct InferenceGraph {
  Graph graph;
  GatheredMetric loss;                  // the mean of all losses together, whose first output is "loss"
  std::vector<GatheredMetric> metrics;  // metrics; then the losses, if there are several; then the drawings
};

// All functions that build a graph declare float values in `real`, so that an f64 graph has no constant that was
// rounded to f32. They throw Error, which names the model's source line, if a value that the model returns does not
// have N rows. With `with_metrics`, the training graph also has the metrics that are means as outputs.
TrainingGraph declare_training(const Task& task, BatchShape batch, DType real, bool with_metrics);
InferenceGraph declare_inference(const Task& task, BatchShape batch, DType real);
Graph build_training_graph(const Task& task, BatchShape batch, DType real = DType::f32);
Graph build_inference_graph(const Task& task, BatchShape batch, DType real = DType::f32);

// Returns the graph of inference with the model's logits as its only output, "logits". Throws Error if the model
// returns none.
Graph build_logits_graph(const Task& task, BatchShape batch, DType real = DType::f32);

// Returns the graph that estimates batch norm's running statistics anew. It has no augmentation and no dropout, reads
// the scalar input `statistics_share` (graph/layers.h) beside the model's inputs, and has the single output "count".
// Throws Error if no layer has running statistics.
Graph build_statistics_graph(const Task& task, BatchShape batch, DType real = DType::f32);

// Returns the graph of the loss that training minimises, without weight decay, as the mean over a minibatch: its only
// output "loss". Batch norm takes the minibatch's statistics; there is no augmentation and no dropout.
Graph build_loss_graph(const Task& task, BatchShape batch, DType real = DType::f32);

// Throws Error, which lists the differences, unless both graphs have the same parameters and running statistics.
void check_same_parameters(const Graph& training, const Graph& inference);

// Returns the names of the parameters on which no output depends, or through stop_gradient alone, and which therefore
// never learn.
std::vector<std::string> unused_parameters(const Graph& graph);

// Returns the number of elements of all parameters together.
int64_t parameter_count(const Graph& graph);

}  // namespace kb
