#include "recipes/inspect/traced_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/config/run_plan.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

constexpr std::string_view kGradient = "gradient.";

// The rule, which also keeps the gradient of the last step in a slot of its own.
UpdateRule tracing(UpdateRule rule) {
  return [rule = std::move(rule)](UpdateContext& context) {
    context.slot("gradient");
    context.set_slot("gradient", context.gradient);
    return rule(context);
  };
}

// Returns the training samples in their own order; after the last comes the first again.
Order whole_order(int64_t count, int64_t steps, int64_t minibatch) {
  std::vector<int64_t> samples(static_cast<size_t>(steps * minibatch));
  for (size_t row = 0; row < samples.size(); ++row) samples[row] = static_cast<int64_t>(row) % count;
  return Order::evaluation(std::ssize(samples), minibatch)
      .within(std::make_shared<const std::vector<int64_t>>(std::move(samples)));
}

// Returns the order of the samples that steps read: those of a run where samples have lengths, which decide their
// steps, else their own.
Order traced_order(const Task& task, const Settled& settled) {
  if (!task.is_ragged() || task.plain->is_constant())
    return whole_order(task.plain->count(), settled.plan.steps, settled.batch_of(0).global);
  std::vector<int64_t> minibatches;
  for (size_t bucket = 0; bucket < settled.buckets.size(); ++bucket)
    minibatches.push_back(settled.batch_of(0, bucket).global);
  return Order::training(order_seed(settled.config.arithmetic), in_buckets(*task.plain, settled.buckets, minibatches));
}

}  // namespace

Settled settle_to_trace(const Task& task, const RunConfig& config, const Target& target) {
  Settled settled = settle_for_one_step(config, target);
  settled.batch = make_batch_plan(config.batch.minibatch, batch_plan(config).per_worker, 1);
  settled.buckets = choose_buckets(task, config.batch, settled.batch);
  settled.plan = make_plan(config, settled.batch, bucket_sizes(task, settled.buckets, settled.batch.workers()));
  return settled;
}

TracedSteps::TracedSteps(const Task& task, const Settled& settled, Backend& backend, StateStore& store,
                         RunScalars& scalars)
    : task_(task),
      settled_(settled),
      backend_(backend),
      store_(store),
      scalars_(scalars),
      order_(traced_order(task, settled)),
      fill_(gather_workers(*task.plain, order_, {0, settled.batch.workers(), settled.batch.workers()})) {
  load_programs();
  store_.initialise(weights_seed(settled_.config.arithmetic));
}

Compiled TracedSteps::compiled(size_t bucket) const {
  const auto& [length, per_worker] = settled_.buckets[bucket];
  TrainingGraph training =
      declare_training(task_, {per_worker, length}, graph_dtype(settled_.config.arithmetic.precision), false);
  CompileOptions options = training_options(task_, training, settled_, settled_.batch_of(0, bucket));
  for (ParameterGroup& group : options.groups)
    if (!group.is_frozen) group.rule = tracing(std::move(group.rule));
  return compile(std::move(training.graph), options);
}

void TracedSteps::load_programs() {
  programs_.resize(settled_.buckets.size());
  std::vector<Session*> sessions;
  for (int64_t step = 0; step < settled_.plan.steps; ++step) {
    const size_t bucket = order_.bucket(step);
    std::unique_ptr<Session>& program = programs_[bucket];
    if (program) continue;
    program = std::make_unique<Session>(backend_, store_, compiled(bucket));
    sessions.push_back(program.get());
    program->set_scalar(kLabelSmoothing, settled_.config.learning.label_smoothing);
    program->set_scalar("worker_share", 1.0 / static_cast<double>(settled_.batch.workers()));
    program->set_scalar("seed", static_cast<double>(settled_.config.arithmetic.seed));
    for (const NamedScalar& scalar : scalars_.constants()) program->set_scalar(scalar.name, scalar.value);
  }
  batch_ = std::make_unique<HostBatch>(sessions, task_.fields);
}

int64_t TracedSteps::length(int64_t step) const {
  const int64_t length = settled_.buckets[order_.bucket(step)].length;
  return length > 0 ? length : task_.length;
}

double TracedSteps::take(int64_t step) {
  Session& session = *programs_[order_.bucket(step)];
  session.set_scalar("step", static_cast<double>(step));
  for (const NamedScalar& scalar : scalars_.at(step)) session.set_scalar(scalar.name, scalar.value);
  batch_->fit(session);
  read_.clear();
  for (int64_t worker = 0; worker < session.virtual_workers(); ++worker) work(session, step, worker);
  return session.read_scalar("loss");
}

void TracedSteps::work(Session& session, int64_t step, int64_t worker) {
  batch_->fill(fill_, step * session.virtual_workers() + worker, {kTrainingPart, task_.plain.get()});
  batch_->feed(session);
  // A weight has the program's own precision, which a loader's f32 weights have not.
  const Type& weights = session.input_type("weights");
  for (int64_t row = 0; row < weights.elements(); ++row)
    store_element(weights.dtype, session.input("weights"), row, 1.0 / static_cast<double>(minibatch(step)));
  session.set_scalar("worker", static_cast<double>(worker));
  keep(step);
  session.work(worker);
}

// Keeps what the batch has, behind what the workers before have read.
void TracedSteps::keep(int64_t step) {
  for (size_t f = 0; f < task_.fields.size(); ++f) {
    const Field& field = task_.fields[f];
    const std::span<const std::byte> bytes = batch_->field(f);
    if (bytes.empty()) continue;
    const std::string name = fmt::format("{}.{}", field.name, step);
    auto kept = std::ranges::find(read_, name, &NamedTensor::name);
    if (kept == read_.end()) {
      Dims shape = field.shape;
      if (field.is_ragged()) shape[0] = length(step);
      shape.insert(shape.begin(), minibatch(step));
      kept = read_.insert(read_.end(), {name, {field.dtype, shape, ""}, {}});
    }
    kept->data.insert(kept->data.end(), bytes.begin(), bytes.end());
  }
}

std::vector<NamedTensor> TracedSteps::gradients() const {
  std::vector<NamedTensor> found;
  for (NamedTensor& tensor : store_.canonical()) {
    if (!tensor.name.starts_with(kGradient)) continue;
    tensor.name.erase(0, kGradient.size());
    found.push_back(std::move(tensor));
  }
  return found;
}

std::vector<NamedTensor> TracedSteps::state() const {
  std::vector<NamedTensor> state = store_.canonical();
  std::erase_if(state, [](const NamedTensor& tensor) { return tensor.name.starts_with(kGradient); });
  return state;
}

NamedTensor TracedSteps::logits(int64_t step) const {
  const Arithmetic& arithmetic = settled_.config.arithmetic;
  CompileOptions options;
  options.target = settled_.target;
  options.precision = arithmetic.precision;
  options.space = &store_.space();
  const Graph graph = build_logits_graph(task_, {minibatch(step), length(step)}, graph_dtype(arithmetic.precision));
  Session session(backend_, store_, compile(graph, options));
  HostBatch batch(session, task_.fields);
  batch.fill(task_.plain->gather(order_, 0), step);
  batch.feed(session);
  session.step();
  std::vector<double> values;
  session.read("logits", values);
  const std::span bytes = std::as_bytes(std::span(values));
  return {"logits", {DType::f64, session.output_type("logits").shape, ""}, {bytes.begin(), bytes.end()}};
}

}  // namespace kb
