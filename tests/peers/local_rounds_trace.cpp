// local_rounds_trace trains a small network in f64 by train(), under a recipe's flags, and writes what a peer needs to
// make the same steps. tests/peers/local_rounds.py makes them.
//
// The file is in the safetensors format. "state.S.NAME" are the parameters, running statistics and slots after S steps,
// for S = 0 and after each evaluation; "batch.S.ROW" are the samples of step S that a virtual worker was fed, the first
// of them in row ROW of the minibatch; "samples" are all training samples. A sample has three numbers: the two inputs
// of the network, and its target.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "recipes/config/flags.h"
#include "recipes/train/train.h"
#include "runtime/safetensors.h"
#include "tests/recipes/sines.h"

using namespace kb;

namespace {

constexpr int64_t kTrain = 96, kWidth = 3;

Tensor squared_error(Inputs& in, Tensor output) {
  const Tensor error = output - slice(cast(in["x"], in.real()), 1, kWidth - 1, kWidth);
  return reshape(0.5 * error * error, {output.size(0)});
}

Tensor inputs_of(Inputs& in) { return slice(cast(in["x"], in.real()), 1, 0, kWidth - 1); }

ModelOutput network(Inputs& in) {
  ModelOutput output;
  output.losses = {{.values = squared_error(in, linear("fc2", tanh(linear("fc1", inputs_of(in), 8)), 1))}};
  return output;
}

// The mean of its losses is a quadratic of the parameters, with a minimum of 0: each target is a linear combination of
// the inputs, as sin(a + 2 d) = 2 cos(d) sin(a + d) - sin(a).
ModelOutput quadratic(Inputs& in) {
  ModelOutput output;
  output.losses = {{.values = squared_error(in, linear("fc1", inputs_of(in), 1))}};
  return output;
}

// Batch norm, whose running statistics are a state, and dropout. A bias before batch norm has a gradient of 0, which
// would be rounding alone.
ModelOutput norm(Inputs& in) {
  const Tensor x = relu(batch_norm("bn", linear("fc1", inputs_of(in), 8, {.bias = false})));
  ModelOutput output;
  output.losses = {{.values = mean(softplus(linear("fc2", dropout("drop", x, 0.2), 3)), {1})}};
  return output;
}

// Keeps the bytes of every batch that it fills, by the step and the batch's first row in the minibatch.
class KeptBatches : public TableSource {
 public:
  using TableSource::TableSource;

  FieldFill gather(const Order& order, int64_t first_row) const override {
    return [this, first_row, fill = TableSource::gather(order, first_row)](int64_t step, const FieldMemory& memory) {
      fill(step, memory);
      const std::span<const std::byte> field = memory.fields.front();
      const std::scoped_lock lock(mutex_);
      batches_[{step, first_row}] = {field.begin(), field.end()};
    };
  }

  // Appends the batches, and the table of all samples.
  void append_to(std::vector<NamedTensor>& tensors) const {
    const auto append = [&](const std::string& name, std::span<const std::byte> bytes) {
      const auto rows = std::ssize(bytes) / (kWidth * static_cast<int64_t>(sizeof(float)));
      tensors.push_back({name, {DType::f32, {rows, kWidth}, ""}, {bytes.begin(), bytes.end()}});
    };
    for (const auto& [place, bytes] : batches_) append(fmt::format("batch.{}.{}", place.first, place.second), bytes);
    append("samples", table(0));
  }

 private:
  mutable std::mutex mutex_;  // threads fill batches
  mutable std::map<std::pair<int64_t, int64_t>, std::vector<std::byte>> batches_;
};

// Keeps the state whenever the training saves its model: before the first step, and after each evaluation.
class KeptStates : public Observer {
 public:
  bool ready(const Ready& ready, LoopStart&) override {
    store_ = &ready.programs.store;
    return true;
  }
  void save_model(int64_t done) override { states_[done] = store_->canonical(); }
  bool wants_state() override { return false; }

  void append_to(std::vector<NamedTensor>& tensors) const {
    for (const auto& [done, state] : states_)
      for (const NamedTensor& tensor : state)
        tensors.push_back({fmt::format("state.{}.{}", done, tensor.name), tensor.type, tensor.data});
  }

 private:
  const StateStore* store_ = nullptr;
  std::map<int64_t, std::vector<NamedTensor>> states_;
};

Task load(const TaskRequest&) {
  return {.name = "local_rounds_trace",
          .fields = {{.name = "x", .shape = {kWidth}, .axes = "C"}},
          .model = network,
          .train = std::make_shared<KeptBatches>(kTrain, std::vector{field_bytes(test::sines(kWidth * kTrain))}),
          .test = test::sine_source(8, kWidth)};
}

std::function<ModelOutput(Inputs&)> model_of(const std::string& name) {
  if (name == "network") return network;
  if (name == "quadratic") return quadratic;
  if (name == "norm") return norm;
  throw UsageError("--model: expected network, quadratic or norm, got " + name);
}

int trace(const std::vector<std::string>& words) {
  std::string file, model = "network";
  const Recipe recipe = {.name = "local_rounds_trace",
                         .summary = "states and samples of a small training",
                         .paper = "none",
                         .defaults = {.minibatch = 16, .scaling = "none", .schedule = "constant", .warmup = "none"},
                         .task = load};
  std::optional<RunConfig> config = parse_flags(
      recipe, "local_rounds_trace --to FILE [FLAGS]", words,
      {{.text = {"--to", "FILE", "the file to write"}, .word = &file},
       {.text = {"--model", "NAME", "network, quadratic (one layer) or norm (batch norm, dropout)"}, .word = &model}});
  if (!config) return 0;
  if (file.empty()) throw UsageError("--to: the file to write is not given");
  config->arithmetic.precision = Precision::f64;
  Task task = load({});
  task.model = model_of(model);
  LocalMachine machine(static_cast<int>(config->machine.threads));
  KeptStates states;
  train(task, *config, machine, states);
  std::vector<NamedTensor> tensors;
  states.append_to(tensors);
  static_cast<const KeptBatches&>(*task.train).append_to(tensors);
  write_safetensors(file, views_of(tensors));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return trace({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "local_rounds_trace: %s\n", error.what());
    return 1;
  }
}
