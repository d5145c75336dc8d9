// summary: writes what a recipe's first steps compute, for comparison with another framework (tests/peers)
//
// In the folder --out: initial.safetensors (parameters, running statistics), batches.safetensors ("images.S" u8,
// "labels.S" of each step S), gradient.safetensors (of step 0), final.safetensors (parameters, running statistics,
// "velocity.NAME") and trace.json (losses, which parameters decay, and all that a step depends on). The steps are SGD
// with momentum at a constant learning rate, over the training images in their own order, not
// augmented.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "optim/update_rules.h"
#include "recipes/device.h"
#include "recipes/feed.h"
#include "recipes/tool.h"
#include "runtime/atomic_file.h"
#include "runtime/safetensors.h"

namespace {

using namespace kb;

constexpr int64_t kDefaultSteps = 10;
constexpr std::string_view kGradient = "gradient.";

// The gradient of the last step stays in a slot of its own.
Tensor tracing_optimizer(UpdateContext& context) {
  context.slot("gradient");
  context.set_slot("gradient", context.gradient);
  return momentum_update(context);
}

NamedTensor tensor_of(std::string name, Type type, const void* data) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::vector<std::byte> copy(bytes, bytes + type.bytes());
  return {std::move(name), std::move(type), std::move(copy)};
}

class Trace {
 public:
  Trace(const ToolCall& call)
      : recipe_(call.recipe),
        flags_(call.flags),
        input_(load_input(image_source(recipe_, flags_))),
        steps_(flags_.steps > 0 ? flags_.steps : kDefaultSteps),
        device_(choose_device(flags_)),
        store_(*device_.backend),
        session_(*device_.backend, store_, compiled()),
        batch_(session_) {}

  void run() {
    std::filesystem::create_directories(flags_.out);
    store_.initialise(static_cast<uint32_t>(flags_.seed));
    write("initial", store_.canonical(false));
    set_scalars();
    for (int64_t step = 0; step < steps_; ++step) {
      feed_rows(input_.data.train, step);
      session_.set_scalar("step", static_cast<double>(step));
      session_.step();
      losses_.push_back(session_.read_scalar("loss"));
      if (step == 0) write("gradient", gradients());
    }
    write("batches", batches_);
    std::vector<NamedTensor> state = store_.canonical();
    std::erase_if(state, [](const NamedTensor& tensor) { return tensor.name.starts_with(kGradient); });
    write("final", state);
    write_file_atomically(path("trace.json"), description().dump(1) + "\n");
    fmt::print("{} steps of {} in {}: loss {:.6f} to {:.6f}\n", steps_, recipe_.name, flags_.out, losses_.front(),
               losses_.back());
  }

 private:
  Compiled compiled() const {
    CompileOptions options;
    options.target = device_.backend->target();
    options.precision = parse_precision(flags_.precision);
    options.optimizer = tracing_optimizer;
    const DType real = graph_dtype(options.precision);
    return compile(build_training_graph(recipe_, input_.spec, flags_.minibatch, flags_.options, {}, real), options);
  }

  std::filesystem::path path(const std::string& name) const { return std::filesystem::path(flags_.out) / name; }
  void write(const std::string& name, const std::vector<NamedTensor>& tensors) const {
    write_safetensors(path(name + ".safetensors"), views_of(tensors));
  }

  void set_scalars() {
    session_.set_scalar("learning_rate", flags_.lr);
    for (const NamedScalar& scalar : flags_.hyper) session_.set_scalar(scalar.name, scalar.value);
    session_.set_scalar("label_smoothing", flags_.label_smoothing);
    session_.set_scalar("seed", static_cast<double>(flags_.seed));
  }

  void feed_rows(const Split& split, int64_t step) {
    const int64_t n = flags_.minibatch;
    for (int64_t row = 0; row < n; ++row) {
      const int64_t from = (step * n + row) % split.count();
      std::ranges::copy(split.image(from), batch_.pixels.begin() + row * input_.spec.shape.size());
      batch_.labels[static_cast<size_t>(row)] = split.labels[static_cast<size_t>(from)];
    }
    feed(session_, batch_);
    // Of the program's own precision, which a loader's f32 weights are not.
    const Type& weights = session_.input_type("weights");
    for (int64_t row = 0; row < n; ++row)
      store_element(weights.dtype, session_.input("weights"), row, 1.0 / static_cast<double>(n));
    batches_.push_back(tensor_of(fmt::format("images.{}", step), session_.input_type("images"), batch_.pixels.data()));
    batches_.push_back(tensor_of(fmt::format("labels.{}", step), session_.input_type("labels"), batch_.labels.data()));
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

  nlohmann::ordered_json description() const {
    nlohmann::ordered_json decays = nlohmann::ordered_json::object(), flags = decays;
    for (const Segment& segment : store_.space().segments) decays[segment.name] = segment.decay;
    for (const auto& [name, value] : flag_values(recipe_, flags_)) flags[name] = value;
    std::map<std::string, double> hyper;
    for (const NamedScalar& scalar : flags_.hyper) hyper[scalar.name] = scalar.value;
    return {{"recipe", recipe_.name},
            {"flags", flags},
            {"steps", steps_},
            {"minibatch", flags_.minibatch},
            {"precision", flags_.precision},
            {"learning_rate", flags_.lr},
            {"momentum", hyper.at("momentum")},
            {"weight_decay", hyper.at("weight_decay")},
            {"label_smoothing", flags_.label_smoothing},
            {"decays", decays},
            {"classes", input_.spec.classes},
            {"shape", {input_.spec.shape.channels, input_.spec.shape.height, input_.spec.shape.width}},
            {"mean", input_.spec.mean},
            {"stddev", input_.spec.stddev},
            {"losses", losses_}};
  }

  const Recipe& recipe_;
  const Flags& flags_;
  Input input_;
  int64_t steps_;
  Device device_;
  StateStore store_;
  Session session_;
  HostBatch batch_;
  std::vector<NamedTensor> batches_;
  std::vector<double> losses_;
};

int trace_steps(const std::vector<std::string>& arguments) {
  int64_t side = 0;
  std::optional<ToolCall> call = parse_tool_call(
      "trace_steps", arguments, {{{"--image", "S", "height and width of synthetic images"}, nullptr, &side}});
  if (!call) return 0;
  if (call->flags.out.empty()) throw UsageError("--out: the folder to write is not given");
  if (call->flags.optimizer != "momentum") throw UsageError("--optimizer: these steps are those of momentum alone");
  if (side > 0) call->recipe.synthetic.shape.height = call->recipe.synthetic.shape.width = side;
  Trace(*call).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("trace_steps", [&] { return trace_steps({argv + 1, argv + argc}); });
}
