// A recipe: a model function over labelled images, or a function that makes a task of its own, and defaults of the
// flags. The framework normalises the images before it calls a model function, which returns values per sample, and
// reduces these over the samples.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/layers.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "recipes/task/inputs.h"
#include "recipes/task/options.h"
#include "recipes/task/task.h"

namespace kb {

// Input of a model function: the n samples of one virtual worker.
struct Batch {
  Tensor images;           // f32 or f64 [N, C, H, W], normalised by the data set's mean and standard deviation
  Tensor labels;           // i32 [N], each in [0, classes): cross_entropy takes them with logits [N, classes]
  Tensor label_smoothing;  // scalar input in [0, 1); 0 in evaluation
  int64_t classes = 0;
  OptionValues options = {};  // values of the options that the recipe defines itself
  // Set only in training with mixup, else invalid: other_labels i32 [N] are the labels of the images that were mixed
  // in. The loss weighs `labels` with label_weight, float [N], and other_labels with 1 - label_weight.
  Tensor other_labels = {}, label_weight = {};
};

using Model = ModelOutput (*)(Batch& batch);

// Returns the usual output of a classifier: the cross-entropy with label smoothing as loss, and the metric "error", the
// share of samples whose largest logit is not that of the label. `logits` has the shape [N, classes].
ModelOutput classification(const Batch& batch, Tensor logits, Where where = Where::current());

struct Defaults {
  std::string dataset = "mnist";
  int64_t minibatch = 64;  // samples per step, kn
  int64_t epochs = 1;
  std::string optimizer = "momentum";   // name of a row of optimizers() or of Recipe::optimizers
  std::vector<NamedScalar> hyper = {};  // hyper-parameters whose defaults differ from those of the optimizer's row
  double lr = 0.05;                     // learning rate for base_minibatch samples
  int64_t base_minibatch = 0;           // samples per step; 0: lr holds for any minibatch
  std::string scaling = "linear";       // name of a row of scaling_rules(), which needs a base_minibatch
  std::string schedule = "cosine";      // name of a built-in shape (optim/schedule.h) or of Recipe::schedules
  std::vector<double> milestones = {};  // epochs, for the schedule "step"
  double power = 2;                     // power of the schedule "polynomial"
  double decay_share = kDecayShare;     // share of the schedules "wsd" and "wsd-sqrt" that decays
  std::string warmup = "gradual";       // name of a row of warmup_kinds()
  double warmup_epochs = 0;
  double warmup_start = 0;  // learning rate at step 0 of the warmup if base_minibatch is 0
  double label_smoothing = 0;
  std::string augment = "none";  // "none", or words of kAugmentKinds (recipes/config/data_options.h) between commas
};

// Flags that a recipe sets in place of its Defaults, and lines about them that its help and the start of a run print.
struct Preset {
  std::vector<std::string> flags = {};  // words of a command line, each flag with its value: "--lr", "30"
  std::vector<std::string> notes = {};
};
// The values on which a recipe's preset may depend.
struct PresetChoice {
  OptionValues options = {};           // values of the options that the recipe defines itself
  std::optional<int64_t> minibatch{};  // --minibatch; nothing: the flag is not given
  std::string dataset = {};            // --dataset, or Defaults::dataset if the flag is not given
};
// Returns the preset for a choice. Flags of a command line override the preset's. Throws UsageError for options that
// contradict each other.
using ChoosePreset = Preset (*)(const PresetChoice& choice);

// Arguments of a function that makes a recipe's own task.
struct TaskRequest {
  std::string data;           // data.path, a file or a folder; "" if it is not given, and for noise
  OptionValues options = {};  // values of the options that the recipe defines itself
  bool is_noise = false;      // noise will stand for the data: the sources and Task::read are not used
};

// Returns a task with its sources, or one that says how they are read (Task::read): such a task can be inspected and
// timed without its data. Throws Error if the data are missing or damaged.
using LoadTask = Task (*)(const TaskRequest& request);

struct Recipe {
  std::string name;     // name of its program
  std::string summary;  // one line. ./run list finds it in the source, so the string has to stand on its own line
  std::string paper;
  Model model = nullptr;
  Defaults defaults = {};
  SyntheticSpec synthetic = {};               // shape of the images of `--dataset synthetic` for this model
  std::vector<Optimizer> optimizers = {};     // optimizers that the recipe adds to the built-in ones
  std::vector<ScheduleShape> schedules = {};  // schedules that the recipe adds to the built-in ones
  std::vector<RecipeOption> options = {};     // flags that only this recipe has
  ChoosePreset preset = nullptr;              // overrides `defaults` depending on a PresetChoice; null: never
  std::string program = {};                   // command that starts the program; empty: "./run NAME"
  std::string benchmark = {};                 // MLPerf's name of the benchmark (--mllog); empty: `name`
  LoadImages load = nullptr;                  // loads the data set "own"; null: there is none
  LoadTask task = nullptr;                    // makes a task of any fields; not null: `model` is not used
  bool is_ragged = false;                     // whether the task has ragged fields: it has the flags of buckets
};

}  // namespace kb
