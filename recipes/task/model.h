// A recipe's parts: a model function over labelled images, or a task of its own, and its defaults. The model returns
// per-sample values; the framework normalises the images before it and reduces over the samples after it.
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

// Input of a model function: one worker's n samples.
struct Batch {
  Tensor images;           // f32 or f64 [N, C, H, W], normalised by the data set's mean and standard deviation
  Tensor labels;           // i32 [N], each in [0, classes): cross_entropy wants logits [N, classes] for them
  Tensor label_smoothing;  // scalar input in [0, 1); 0 in evaluation
  int64_t classes = 0;
  OptionValues options = {};  // options of the recipe's own
  // Training with mixup alone, else invalid: the labels i32 [N] that count 1 - label_weight f32 [N].
  Tensor other_labels = {}, label_weight = {};
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
  double power = 2;                     // power of the schedule "polynomial"
  double decay_share = kDecayShare;     // share of the schedules "wsd" and "wsd-sqrt" that decays
  std::string warmup = "gradual";       // a row of warmup_kinds()
  double warmup_epochs = 0;
  double warmup_start = 0;  // learning rate at step 0 of the warmup, where there is no base_minibatch
  double label_smoothing = 0;
  std::string augment = "none";  // kinds, separated by commas: crop, flip, cutout, mixup
};

// Flags that a recipe gives itself, and lines that its help and the start of a run say about them.
struct Preset {
  std::vector<std::string> flags = {};  // words of a command line, each flag with its value: "--lr", "30"
  std::vector<std::string> notes = {};
};
// Flags of a command line that a preset depends on.
struct PresetChoice {
  OptionValues options = {};           // options of the recipe's own
  std::optional<int64_t> minibatch{};  // --minibatch; nothing: that of the preset's flags or of the defaults
  std::string dataset = {};            // --dataset, or that of the defaults
};
// Flags of a command line replace those of a preset. Throws UsageError for options that contradict each other.
using ChoosePreset = Preset (*)(const PresetChoice& choice);

// Arguments of a function that makes a recipe's own task.
struct TaskRequest {
  std::string data;           // data.path, a file or a folder; "" where it is not given
  OptionValues options = {};  // flags of the recipe's own
};

// Returns a task with its sources. Throws Error where the data are missing or damaged.
using LoadTask = Task (*)(const TaskRequest& request);

struct Recipe {
  std::string name;     // name of its program
  std::string summary;  // one line; ./run list reads it, as a string on a line of its own
  std::string paper;
  Model model = nullptr;
  Defaults defaults = {};
  Synthetic synthetic = {};                   // shape of the images of `--dataset synthetic` for this model
  std::vector<Optimizer> optimizers = {};     // optimizers of its own, beside the built-in ones
  std::vector<ScheduleShape> schedules = {};  // schedules of its own
  std::vector<RecipeOption> options = {};     // flags of its own
  ChoosePreset preset = nullptr;              // over the defaults, where these depend on such a choice
  std::string program = {};                   // how its program is started; empty: "./run NAME"
  std::string benchmark = {};                 // MLPerf's name of it (--mllog); empty: `name`
  LoadImages load = nullptr;                  // images of the recipe's own: the data set "own"
  LoadTask task = nullptr;                    // fields and a model of the recipe's own, in place of `model` over images
};

}  // namespace kb
