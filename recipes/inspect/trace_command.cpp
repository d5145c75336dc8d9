// The command trace: what the first steps of a training compute, for comparison with another framework (tests/peers).
//
// The folder --out gets initial.safetensors (parameters, running statistics), batches.safetensors ("FIELD.S" of each
// field and step S, as "images.0"), gradient.safetensors (of step 0), final.safetensors (parameters, running
// statistics, the optimizer's slots as "SLOT.NAME", such as "velocity.fc.weight") and trace.json (losses, how each
// group of parameters learns, which tensors decay and are adapted, their rates, and all else that a step depends on).
// With --gradients also gradients.safetensors, of all steps as "NAME.S"; with --logits logits.safetensors: "logits",
// what the state after the last step gives for its samples in evaluation. Optimizers and learning rates are those of a
// run of as many steps with the same flags; the training samples come in their own order and are not augmented.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/commands.h"
#include "recipes/train/device.h"
#include "recipes/train/feed.h"
#include "recipes/train/programs.h"
#include "recipes/train/run_scalars.h"
#include "runtime/atomic_file.h"
#include "runtime/json.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

constexpr int64_t kDefaultSteps = 10;
constexpr std::string_view kGradient = "gradient.";

// The rule, which also keeps the gradient of the last step in a slot of its own.
UpdateRule tracing(UpdateRule rule) {
  return [rule = std::move(rule)](UpdateContext& context) {
    context.slot("gradient");
    context.set_slot("gradient", context.gradient);
    return rule(context);
  };
}

RunConfig with_steps(RunConfig config) {
  if (config.length.steps == 0) config.length.steps = kDefaultSteps;
  config.data.augment.clear();
  return config;
}

// Throws UsageError for a schedule that depends on the workers' gradients: a trace has one worker.
const RunConfig& without_gains(const RunConfig& config) {
  if (reference_rate(config.learning).has_gains())
    throw UsageError("--scaling: expected a rate that is known before the step, got adascale");
  return config;
}

NamedTensor tensor_of(std::string name, Type type, const void* data) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::vector<std::byte> copy(bytes, bytes + type.bytes());
  return {std::move(name), std::move(type), std::move(copy)};
}

class Trace {
 public:
  Trace(const ToolCall& call, bool every_gradient, bool logits)
      : every_gradient_(every_gradient),
        has_logits_(logits),
        recipe_(call.recipe),
        config_(with_steps(call.config)),
        task_(load_task(recipe_, config_).task),
        plan_(make_plan(without_gains(config_), task_.train_count)),
        groups_(learning_of_groups(config_, groups_of(task_))),
        scalars_(rules_of(task_), groups_, plan_),
        device_(choose_device(config_.machine, config_.arithmetic.shards)),
        store_(*device_.backend),
        session_(*device_.backend, store_, compiled()),
        batch_(session_, task_.fields),
        fill_(task_.plain->gather(whole_order(plan_.steps * config_.batch.minibatch), 0)) {}

  void run() {
    std::filesystem::create_directories(config_.out.folder);
    store_.initialise(weights_seed(config_.arithmetic));
    write("initial", store_.canonical(false));
    session_.set_scalar(kLabelSmoothing, config_.learning.label_smoothing);
    session_.set_scalar("seed", static_cast<double>(config_.arithmetic.seed));
    for (const NamedScalar& scalar : scalars_.constants()) session_.set_scalar(scalar.name, scalar.value);
    for (int64_t step = 0; step < plan_.steps; ++step) {
      feed_rows(step);
      set_scalars(step);
      session_.step();
      losses_.push_back(session_.read_scalar("loss"));
      if (step == 0) write("gradient", gradients());
      if (every_gradient_) keep_gradients(step);
    }
    write("batches", batches_);
    if (every_gradient_) write("gradients", gradients_);
    std::vector<NamedTensor> state = store_.canonical();
    std::erase_if(state, [](const NamedTensor& tensor) { return tensor.name.starts_with(kGradient); });
    write("final", state);
    if (has_logits_) write("logits", {logits_of(plan_.steps - 1)});
    write_file_atomically(path("trace.json"), description().dump(1) + "\n");
    fmt::print("{} steps of {} in {}: loss {:.6f} to {:.6f}\n", plan_.steps, recipe_.name, config_.out.folder,
               losses_.front(), losses_.back());
  }

 private:
  Compiled compiled() const {
    TrainingGraph training =
        declare_training(task_, config_.batch.minibatch, graph_dtype(config_.arithmetic.precision), false);
    CompileOptions options =
        training_options(task_, training.objectives, settle_for_one_step(config_, device_.backend->target()), {});
    for (ParameterGroup& group : options.groups) group.rule = tracing(std::move(group.rule));
    options.workers = {};  // one takes the whole minibatch
    return compile(std::move(training.graph), options);
  }

  std::filesystem::path path(const std::string& name) const { return std::filesystem::path(config_.out.folder) / name; }
  void write(const std::string& name, const std::vector<NamedTensor>& tensors) const {
    write_safetensors(path(name + ".safetensors"), views_of(tensors));
  }

  void set_scalars(int64_t step) {
    session_.set_scalar("step", static_cast<double>(step));
    for (const NamedScalar& scalar : scalars_.at(step)) session_.set_scalar(scalar.name, scalar.value);
  }

  // Returns the training samples in their own order; after the last comes the first again.
  Order whole_order(int64_t rows) const {
    std::vector<int64_t> samples(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) samples[static_cast<size_t>(row)] = row % task_.train_count;
    return Order::evaluation(rows, config_.batch.minibatch)
        .within(std::make_shared<const std::vector<int64_t>>(std::move(samples)));
  }

  void feed_rows(int64_t step) {
    const int64_t n = config_.batch.minibatch;
    batch_.fill(fill_, step);
    batch_.feed(session_);
    // A weight has the program's own precision, which a loader's f32 weights have not.
    const Type& weights = session_.input_type("weights");
    for (int64_t row = 0; row < n; ++row)
      store_element(weights.dtype, session_.input("weights"), row, 1.0 / static_cast<double>(n));
    for (size_t f = 0; f < task_.fields.size(); ++f) {
      const Field& field = task_.fields[f];
      if (batch_.field(f).empty()) continue;
      Dims shape = field.shape;
      shape.insert(shape.begin(), n);
      batches_.push_back(
          tensor_of(fmt::format("{}.{}", field.name, step), {field.dtype, shape, ""}, batch_.field(f).data()));
    }
  }

  // Returns the logits, in evaluation, of the samples of a step.
  NamedTensor logits_of(int64_t step) {
    CompileOptions options;
    options.target = device_.backend->target();
    options.precision = config_.arithmetic.precision;
    options.space = &store_.space();
    const Graph graph = build_logits_graph(task_, config_.batch.minibatch, graph_dtype(config_.arithmetic.precision));
    Session session(*device_.backend, store_, compile(graph, options));
    HostBatch batch(session, task_.fields);
    batch.fill(fill_, step);
    batch.feed(session);
    session.step();
    std::vector<double> values;
    session.read("logits", values);
    return tensor_of("logits", {DType::f64, session.output_type("logits").shape, ""}, values.data());
  }

  std::vector<NamedTensor> gradients() const {
    std::vector<NamedTensor> found;
    for (NamedTensor& tensor : store_.canonical()) {
      if (!tensor.name.starts_with(kGradient)) continue;
      tensor.name.erase(0, kGradient.size());
      found.push_back(std::move(tensor));
    }
    return found;
  }

  void keep_gradients(int64_t step) {
    for (NamedTensor& tensor : gradients()) {
      tensor.name += fmt::format(".{}", step);
      gradients_.push_back(std::move(tensor));
    }
  }

  void describe(Json& object, const Learning& learning) const {
    const StepScalars scalars = make_scalars(rules_of(task_), learning, plan_);
    std::vector<double> rates;
    for (int64_t step = 0; step < plan_.steps; ++step) rates.push_back(scalars.rate().at(step));
    object["optimizer"] = learning.optimizer;
    object["hyper_parameters"] = Json::object();
    for (const NamedScalar& scalar : hyper_of_run(learning, config_.batch.minibatch))
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
                {"steps", plan_.steps},
                {"steps_per_epoch", plan_.steps_per_epoch},
                {"minibatch", config_.batch.minibatch},
                {"precision", word_of(kPrecisions, config_.arithmetic.precision)},
                {"label_smoothing", config_.learning.label_smoothing},
                {"decays", decays},
                {"adapts", adapts},
                {"rates", rates},
                {"groups", groups},
                {"losses", losses_}};
    describe(all, groups_.front().learning);
    if (!recipe_.task) describe_images(all);
    return all;
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
  RunPlan plan_;
  std::vector<GroupLearning> groups_;
  RunScalars scalars_;
  Device device_;
  StateStore store_;
  Session session_;
  HostBatch batch_;
  FieldFill fill_;
  std::vector<NamedTensor> batches_, gradients_;
  std::vector<double> losses_;
};

}  // namespace

int trace_command(const ToolArguments& arguments) {
  int64_t side = 0;
  bool every_gradient = false, logits = false;
  std::optional<ToolCall> call =
      parse_tool_call(arguments, {{{"--side", "S", "height and width of synthetic images"}, nullptr, &side},
                                  {{"--gradients", "", "write the gradients of all steps"}, &every_gradient},
                                  {{"--logits", "", "write the logits of the last samples in evaluation"}, &logits}});
  if (!call) return 0;
  if (call->config.out.folder.empty()) throw UsageError("--out: the folder to write is not given");
  if (side > 0) call->recipe.synthetic.shape.height = call->recipe.synthetic.shape.width = side;
  Trace(*call, every_gradient, logits).run();
  return 0;
}

}  // namespace kb
