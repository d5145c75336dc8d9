// A recipe's parts - a model function and its defaults - and the graphs that the framework makes of them. The model
// returns per-sample values; the framework normalises the images before it and reduces over the samples behind it.
#pragma once
#include <string>
#include <vector>

#include "data/augment.h"
#include "graph/layers.h"
#include "optim/optimizer.h"
#include "recipes/task/inputs.h"
#include "recipes/task/options.h"

namespace kb {

// Input of a model function: one worker's n samples.
struct Batch {
  Tensor images;           // f32 or f64 [N, C, H, W], normalised by the data set's mean and standard deviation
  Tensor labels;           // i32 [N], each in [0, classes): cross_entropy wants logits [N, classes] for them
  Tensor label_smoothing;  // scalar input in [0, 1); 0 in evaluation
  int64_t classes = 0;
  OptionValues options = {};  // of the recipe's own
  // Training with mixup alone, else invalid: the labels i32 [N] that count 1 - label_weight f32 [N].
  Tensor other_labels = {}, label_weight = {};
};

struct Metric {
  std::string name;
  Tensor values;  // f32 [N]; averaged over the samples
};

struct ModelOutput {
  Tensor loss;  // f32 [N]; never reduced over N
  std::vector<Metric> metrics;
};

using Model = ModelOutput (*)(Batch& batch);

// The usual head: cross-entropy with label smoothing, and the metric "error" (1 where the largest logit is not the
// label's). logits [N, classes].
ModelOutput classification(const Batch& batch, Tensor logits, Where where = Where::current());

struct Defaults {
  std::string dataset = "mnist";
  int64_t minibatch = 64;  // n
  int64_t epochs = 1;
  std::string optimizer = "momentum";   // a row of optimizers(), or one of the recipe's own
  std::vector<NamedScalar> hyper = {};  // its hyper-parameters, where they are not those of its row
  double lr = 0.05;                     // at base_minibatch
  int64_t base_minibatch = 0;           // 0: lr holds for any minibatch
  std::string scaling = "linear";       // a row of scaling_rules(), where there is a base_minibatch
  std::string schedule = "cosine";      // a row of schedule_shapes()
  std::vector<double> milestones = {};  // epochs, for the schedule "step"
  double power = 2;                     // for the schedule "polynomial"
  std::string warmup = "gradual";       // a row of warmup_kinds()
  double warmup_epochs = 0;
  double warmup_start = 0;  // learning rate at step 0 of the warmup, where there is no base_minibatch
  double label_smoothing = 0;
  std::string augment = "none";  // kinds, separated by commas: crop, flip, cutout, mixup
};

struct Recipe {
  std::string name;     // of its program
  std::string summary;  // one line; the same as behind "// summary:" in its program
  std::string paper;
  Model model = nullptr;
  Defaults defaults = {};
  Synthetic synthetic = {};                // what `--dataset synthetic` looks like for this model
  std::vector<Optimizer> optimizers = {};  // its own, beside the built-in ones
  std::vector<RecipeOption> options = {};  // flags of its own
  std::string program = {};                // how its program is started; empty: "./run NAME"
  LoadImages load = nullptr;               // images of the recipe's own: the data set "own"
};

// Inputs "images" u8 [N, C, H, W], "labels" i32 [N] (an index_input), "weights" f32 [N] and the scalar
// "label_smoothing". Training: the inputs of recipes/task/augment.h where `augment` asks for them; output "loss", the
// sum of losses times weights (weights 1 / kn: the mean over the global minibatch). Inference: the sums "loss", each
// metric by its name, and "count" of the weights (1, or 0 for padded rows). Both throw Error where the model's values
// are not [N], with the model's own line. All is declared in `real`, so that in f64 no constant was ever rounded to
// f32.
Graph build_training_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch, const OptionValues& options,
                           const AugmentSpec& augment = {}, DType real = DType::f32);
Graph build_inference_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch,
                            const OptionValues& options, DType real = DType::f32);

// Returns the graph that estimates batch norm's running statistics anew. It has the inputs of inference that they
// depend on, without augmentation or dropout, and `statistics_share` (graph/layers.h); output "count". Throws Error
// where no layer has such statistics.
Graph build_statistics_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch,
                             const OptionValues& options, DType real = DType::f32);

// Throws Error naming what differs unless both have the same parameters and running statistics.
void check_same_parameters(const Graph& training, const Graph& inference);

// Elements over all parameters.
int64_t parameter_count(const Graph& graph);

}  // namespace kb
