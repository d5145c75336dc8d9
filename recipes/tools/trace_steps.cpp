// summary: writes what a recipe's first steps compute, for comparison with another framework (tests/peers)
//
// The tool writes into the folder --out:
//   initial.safetensors    parameters and running statistics before the first step
//   batches.safetensors    "images.S" (u8) and "labels.S" of each step S
//   gradient.safetensors   gradient of step 0
//   final.safetensors      parameters, running statistics, and the optimizer's slots as "SLOT.NAME", such as
//                          "velocity.fc.weight"
//   trace.json             losses, the optimizer with its hyper-parameters, the learning rate of each step, the tensors
//                          that decay and are adapted, and all else that a step depends on
//   gradients.safetensors  with --gradients: gradients of all steps as "NAME.S"
//   logits.safetensors     with --logits: "logits" of the last step's images, in evaluation with the final state
// The optimizer and the learning rates are those of a run of as many steps with the same flags. The training images are
// taken in their stored order and are not augmented.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/feed.h"
#include "recipes/train/programs.h"
#include "runtime/atomic_file.h"
#include "runtime/json.h"
#include "runtime/safetensors.h"

namespace {

using namespace kb;

constexpr int64_t kDefaultSteps = 10;
constexpr std::string_view kGradient = "gradient.";  // beginning of the names of the slot that tracing() adds

// Returns the rule with a slot added that keeps the gradient of the last step.
UpdateRule tracing(UpdateRule rule) {
  return [rule = std::move(rule)](UpdateContext& context) {
    context.slot("gradient");
    context.set_slot("gradient", context.gradient);
    return rule(context);
  };
}

RunConfig with_steps(RunConfig config) {
  if (config.length.steps == 0) config.length.steps = kDefaultSteps;
  return config;
}

// Returns `config`. Throws UsageError if its schedule depends on gradients of several workers: a trace has only one.
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
        input_(load_input(image_source(recipe_, config_))),
        task_(image_task(recipe_, input_.spec, config_.data.options)),
        plan_(make_plan(without_gains(config_), input_.data.train.count())),
        scalars_(make_scalars(recipe_.optimizers, config_.learning, plan_)),
        device_(choose_device(config_.machine, config_.arithmetic.shards)),
        store_(*device_.backend),
        session_(*device_.backend, store_, compiled()),
        batch_(session_, task_.fields),
        rows_(gather_rows(input_.data.train, whole_order(plan_.steps * config_.batch.minibatch))),
        weights_(static_cast<size_t>(config_.batch.minibatch)) {}

  void run() {
    std::filesystem::create_directories(config_.out.folder);
    store_.initialise(weights_seed(config_.arithmetic));
    write("initial", store_.canonical(false));
    session_.set_scalar("label_smoothing", config_.learning.label_smoothing);
    session_.set_scalar("seed", static_cast<double>(config_.arithmetic.seed));
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
    CompileOptions options = training_options(task_, settle_for_one_step(config_, device_.backend->target()), {});
    options.groups[0].rule = tracing(std::move(options.groups[0].rule));
    options.workers = {};  // a single worker takes the whole minibatch
    const DType real = graph_dtype(options.precision);
    return compile(build_training_graph(task_, config_.batch.minibatch, real), options);
  }

  std::filesystem::path path(const std::string& name) const { return std::filesystem::path(config_.out.folder) / name; }
  void write(const std::string& name, const std::vector<NamedTensor>& tensors) const {
    write_safetensors(path(name + ".safetensors"), views_of(tensors));
  }

  void set_scalars(int64_t step) {
    session_.set_scalar("step", static_cast<double>(step));
    for (const NamedScalar& scalar : scalars_.at(step)) session_.set_scalar(scalar.name, scalar.value);
  }

  // Returns the order of `rows` rows: the training samples in their stored order, repeated as often as needed.
  Order whole_order(int64_t rows) const {
    std::vector<int64_t> samples(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) samples[static_cast<size_t>(row)] = row % input_.data.train.count();
    return Order::evaluation(rows, config_.batch.minibatch)
        .within(std::make_shared<const std::vector<int64_t>>(std::move(samples)));
  }

  void fill_rows(HostBatch& batch, int64_t step) {
    const std::span<std::byte> images = batch.field(0), labels = batch.field(1);
    rows_(step, {{reinterpret_cast<uint8_t*>(images.data()), images.size()},
                 {reinterpret_cast<int32_t*>(labels.data()), labels.size() / sizeof(int32_t)},
                 weights_});
  }

  void feed_rows(int64_t step) {
    const int64_t n = config_.batch.minibatch;
    fill_rows(batch_, step);
    batch_.feed(session_);
    // The weights are written here, in the precision of the program, because a loader's weights are only f32.
    const Type& weights = session_.input_type("weights");
    for (int64_t row = 0; row < n; ++row)
      store_element(weights.dtype, session_.input("weights"), row, 1.0 / static_cast<double>(n));
    batches_.push_back(
        tensor_of(fmt::format("images.{}", step), session_.input_type("images"), batch_.field(0).data()));
    batches_.push_back(
        tensor_of(fmt::format("labels.{}", step), session_.input_type("labels"), batch_.field(1).data()));
  }

  // Returns the logits of a step's images, computed in evaluation with the present state.
  NamedTensor logits_of(int64_t step) {
    CompileOptions options;
    options.target = device_.backend->target();
    options.precision = config_.arithmetic.precision;
    options.space = &store_.space();
    const Graph graph = build_logits_graph(task_, config_.batch.minibatch, graph_dtype(config_.arithmetic.precision));
    Session session(*device_.backend, store_, compile(graph, options));
    HostBatch batch(session, task_.fields);
    fill_rows(batch, step);
    batch.feed(session);
    session.step();
    std::vector<double> values;
    session.read("logits", values);
    return tensor_of("logits", {DType::f64, {config_.batch.minibatch, input_.spec.classes}, ""}, values.data());
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

  std::vector<double> learning_rates() const {
    std::vector<double> rates;
    for (int64_t step = 0; step < plan_.steps; ++step) rates.push_back(scalars_.rate().at(step));
    return rates;
  }

  Json description() const {
    Json decays = Json::object(), adapts = decays, config = decays, hyper = decays;
    for (const Segment& segment : store_.space().segments) {
      decays[segment.name] = segment.decay;
      adapts[segment.name] = segment.adapt;
    }
    for (const FlagValue& flag : flag_values(recipe_, config_)) config[flag.name] = flag.value;
    for (const NamedScalar& scalar : hyper_of_run(config_.learning, config_.batch.minibatch))
      hyper[scalar.name] = scalar.value;
    return {{"recipe", recipe_.name},
            {"flags", config},
            {"steps", plan_.steps},
            {"steps_per_epoch", plan_.steps_per_epoch},
            {"minibatch", config_.batch.minibatch},
            {"precision", word_of(kPrecisions, config_.arithmetic.precision)},
            {"optimizer", config_.learning.optimizer},
            {"hyper_parameters", hyper},
            {"learning_rate", scalars_.rate().spec().learning_rate},
            {"learning_rates", learning_rates()},
            {"label_smoothing", config_.learning.label_smoothing},
            {"decays", decays},
            {"adapts", adapts},
            {"classes", input_.spec.classes},
            {"shape", Json::array({input_.spec.shape.channels, input_.spec.shape.height, input_.spec.shape.width})},
            {"mean", input_.spec.mean},
            {"stddev", input_.spec.stddev},
            {"losses", losses_}};
  }

  bool every_gradient_, has_logits_;
  const Recipe& recipe_;
  RunConfig config_;
  Input input_;
  Task task_;
  RunPlan plan_;
  StepScalars scalars_;
  Device device_;
  StateStore store_;
  Session session_;
  HostBatch batch_;
  BatchFill rows_;
  std::vector<float> weights_;  // weights that rows_ writes; feed_rows() does not use them
  std::vector<NamedTensor> batches_, gradients_;
  std::vector<double> losses_;
};

int trace_steps(const std::vector<std::string>& arguments) {
  int64_t side = 0;
  bool every_gradient = false, logits = false;
  std::optional<ToolCall> call =
      parse_tool_call({"trace_steps", {}, arguments},
                      {{{"--side", "S", "height and width of synthetic images"}, nullptr, &side},
                       {{"--gradients", "", "write the gradients of all steps"}, &every_gradient},
                       {{"--logits", "", "write the logits of the last images in evaluation"}, &logits}});
  if (!call) return 0;
  if (call->config.out.folder.empty()) throw UsageError("--out: the folder to write is not given");
  if (side > 0) call->recipe.synthetic.shape.height = call->recipe.synthetic.shape.width = side;
  Trace(*call, every_gradient, logits).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("trace_steps", [&] { return trace_steps({argv + 1, argv + argc}); });
}
