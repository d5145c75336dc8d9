// summary: writes what a recipe's first steps compute, for comparison with another framework (tests/peers)
//
// The folder --out gets initial.safetensors (parameters, running statistics), batches.safetensors ("FIELD.S" of each
// field and step S, as "images.0"), gradient.safetensors (of step 0), final.safetensors (parameters, running
// statistics, the optimizer's slots as "SLOT.NAME", such as "velocity.fc.weight") and trace.json (losses, how each
// group of parameters learns, which tensors decay and are adapted, their rates, samples and length of each step, and
// all else that a step depends on). With --gradients also gradients.safetensors, of all steps as "NAME.S"; with
// --logits logits.safetensors: "logits", what the state after the last step gives for its samples in evaluation.
// Initial weights (--init), optimizers and learning rates are those of a run of as many steps with the same flags. The
// training samples are not augmented. They come in their own order, or, where their lengths decide the steps
// (recipes/config/buckets.h), in that of a run. A batch has the rows of all virtual workers, one worker after another.
#include <fmt/format.h>

#include <filesystem>

#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/traced_steps.h"
#include "recipes/tools/commands.h"
#include "recipes/train/declared_names.h"
#include "recipes/train/device.h"
#include "recipes/train/init_weights.h"
#include "recipes/train/programs.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/json.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

constexpr int64_t kDefaultSteps = 10;

RunConfig with_steps(RunConfig config) {
  if (config.length.steps == 0) config.length.steps = kDefaultSteps;
  config.data.augment.clear();
  return config;
}

// Throws UsageError for a schedule that depends on the workers' gradients, since a trace tells all rates beforehand,
// and for steps that are not synchronous.
const RunConfig& without_gains(const RunConfig& config) {
  if (config.sync.policy != Policy::sync)
    throw UsageError(fmt::format("--policy: expected sync, whose steps a trace has, got {}",
                                 word_of(kPolicies, config.sync.policy)));
  if (reference_rate(config.learning).has_gains())
    throw UsageError("--scaling: expected a rate that is known before the step, got adascale");
  return config;
}

class Trace {
 public:
  Trace(const ToolCall& call, bool every_gradient, bool logits)
      : every_gradient_(every_gradient),
        has_logits_(logits),
        recipe_(call.recipe),
        config_(without_gains(with_steps(call.config))),
        task_(load_task(recipe_, config_).task),
        device_(choose_device(config_.machine, config_.arithmetic.shards)),
        settled_(settle_to_trace(task_, config_, device_.backend->target())),
        groups_(learning_of_groups(config_, groups_of(task_, config_.batch))),
        scalars_(rules_of(task_), groups_, settled_.plan),
        store_(*device_.backend),
        steps_(task_, settled_, *device_.backend, store_, scalars_) {}

  void run() {
    make_folder(config_.out.folder, "--out: ");
    if (const Resume& from = config_.resume; !from.init.empty())
      init_weights(store_, from.init, from.init_partial ? InitExtent::partial : InitExtent::whole, from.init_scope,
                   [](const std::string& line) { fmt::print("{}\n", line); });
    write("initial", store_.canonical(false));
    std::vector<NamedTensor> batches, gradients;
    for (int64_t step = 0; step < settled_.plan.steps; ++step) {
      losses_.push_back(steps_.take(step));
      for (NamedTensor& field : steps_.batch()) batches.push_back(std::move(field));
      if (step == 0) write("gradient", steps_.gradients());
      if (every_gradient_) append(gradients, steps_.gradients(), step);
    }
    write("batches", batches);
    if (every_gradient_) write("gradients", gradients);
    write("final", steps_.state());
    if (has_logits_) write("logits", {steps_.logits(settled_.plan.steps - 1)});
    write_file_atomically(path("trace.json"), description().dump(1) + "\n");
    fmt::print("{} steps of {} in {}: loss {:.6f} to {:.6f}\n", settled_.plan.steps, recipe_.name, config_.out.folder,
               losses_.front(), losses_.back());
  }

 private:
  std::filesystem::path path(const std::string& name) const { return std::filesystem::path(config_.out.folder) / name; }
  void write(const std::string& name, const std::vector<NamedTensor>& tensors) const {
    write_safetensors(path(name + ".safetensors"), views_of(tensors));
  }

  static void append(std::vector<NamedTensor>& all, std::vector<NamedTensor> gradients, int64_t step) {
    for (NamedTensor& tensor : gradients) {
      tensor.name += fmt::format(".{}", step);
      all.push_back(std::move(tensor));
    }
  }

  void describe(Json& object, const Learning& learning) const {
    object["optimizer"] = learning.optimizer;
    if (is_frozen(learning)) return;
    const StepScalars scalars = make_scalars(rules_of(task_), learning, settled_.plan);
    std::vector<double> rates;
    for (int64_t step = 0; step < settled_.plan.steps; ++step) rates.push_back(scalars.rate().at(step));
    object["hyper_parameters"] = Json::object();
    for (const NamedScalar& scalar : hyper_of_run(learning, settled_.plan.minibatch))
      object["hyper_parameters"][scalar.name] = scalar.value;
    object["learning_rate"] = scalars.rate().spec().learning_rate;
    object["learning_rates"] = rates;
  }

  // How the first group learns stands in the object itself, for a trace of one group is the usual one.
  Json description() const {
    Json decays = Json::object(), adapts = decays, rates = decays, config = decays, groups = decays;
    for (const Segment& segment : store_.space().segments) {
      decays[segment.name] = segment.decay;
      adapts[segment.name] = segment.adapt;
      rates[segment.name] = segment.rate;
    }
    for (const FlagValue& flag : flag_values(recipe_, config_)) config[flag.name] = flag.value;
    for (const auto& [group, learning] : groups_) {
      groups[group] = Json::object();
      describe(groups[group], learning);
    }
    Json all = {{"recipe", recipe_.name},
                {"flags", config},
                {"steps", settled_.plan.steps},
                {"steps_per_epoch", settled_.plan.steps_per_epoch},
                {"minibatch", settled_.plan.minibatch},
                {"workers", settled_.batch.workers()},
                {"precision", word_of(kPrecisions, config_.arithmetic.precision)},
                {"label_smoothing", config_.learning.label_smoothing},
                {"decays", decays},
                {"adapts", adapts},
                {"rates", rates},
                {"groups", groups},
                {"losses", losses_}};
    describe(all, groups_.front().learning);
    describe_steps(all);
    if (!recipe_.task) describe_images(all);
    return all;
  }

  void describe_steps(Json& all) const {
    std::vector<int64_t> minibatches, lengths;
    for (int64_t step = 0; step < settled_.plan.steps; ++step) {
      minibatches.push_back(steps_.minibatch(step));
      lengths.push_back(steps_.length(step));
    }
    all["minibatches"] = minibatches;
    if (task_.is_ragged()) all["lengths"] = lengths;
  }

  void describe_images(Json& all) const {
    const InputSpec spec = input_spec(image_source(recipe_, config_));
    all["classes"] = spec.classes;
    all["shape"] = Json::array({spec.shape.channels, spec.shape.height, spec.shape.width});
    all["mean"] = spec.mean;
    all["stddev"] = spec.stddev;
  }

  bool every_gradient_, has_logits_;
  const Recipe& recipe_;
  RunConfig config_;
  Task task_;
  Device device_;
  Settled settled_;
  std::vector<GroupLearning> groups_;
  RunScalars scalars_;
  StateStore store_;
  TracedSteps steps_;
  std::vector<double> losses_;
};

}  // namespace

int trace_steps_command(const ToolArguments& arguments) {
  int64_t side = 0;
  bool every_gradient = false, logits = false;
  std::optional<ToolCall> call =
      parse_tool_call(arguments, "Writes what a recipe's first steps compute, for comparison with another framework.",
                      {{{"--side", "S", "height and width of synthetic images"}, &side},
                       {{"--gradients", "", "write the gradients of all steps"}, &every_gradient},
                       {{"--logits", "", "write the logits of the last samples in evaluation"}, &logits}});
  if (!call) return 0;
  if (call->config.out.folder.empty()) throw UsageError("--out: the folder to write is not given");
  if (side > 0) call->recipe.synthetic.shape.height = call->recipe.synthetic.shape.width = side;
  Trace(*call, every_gradient, logits).run();
  return 0;
}

}  // namespace kb
