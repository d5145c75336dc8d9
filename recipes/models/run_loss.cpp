#include "recipes/models/run_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"

namespace kb {
namespace {

void check_any(const Recipe&, const std::filesystem::path&) {}

RunModel model_with_data(const LossRequest& request, const std::optional<Recipe>& own, const char* tool) {
  RunModel model(request.model, own, {tool, "", check_any});
  if (!request.data.empty()) model.config.data.path = request.data;
  return model;
}

Task plain_task(const RunModel& model) {
  Task task = load_task(model.recipe, model.config).task;
  if (task.is_ragged())
    throw Error(fmt::format("{}: expected samples of one length, got those of {}, which differ",
                            model.request.run.string(), task.name));
  if (!task.plain) task.plain = task.train;
  return task;
}

LossFacts facts_of(const LossRequest& request, const RunModel& model, const Task& task, int64_t groups) {
  LossFacts facts;
  facts.per_minibatch = request.per_minibatch > 0 ? request.per_minibatch : batch_plan(model.config).per_worker;
  const int64_t at_most = std::min(request.samples, task.plain->count()), group = groups * facts.per_minibatch;
  facts.samples = at_most / group * group;
  if (facts.samples > 0) return facts;
  throw Error(fmt::format("--samples {}: expected {} or more, {} group{} of a minibatch of {}; got {} training samples",
                          request.samples, group, groups, groups == 1 ? "" : "s", facts.per_minibatch, at_most));
}

CompileOptions options_for(const Target& target, DType real) {
  CompileOptions options;
  options.target = target;
  options.precision = real == DType::f64 ? Precision::f64 : Precision::f32;
  return options;
}

// Writes the values to elements of a type, and returns those that are left.
std::span<const double> take(std::span<const double> values, const Type& type, std::byte* to) {
  const int64_t count = element_count(type.shape);
  for (int64_t i = 0; i < count; ++i) store_element(type.dtype, to, i, values[static_cast<size_t>(i)]);
  return values.subspan(static_cast<size_t>(count));
}

NamedTensor& find_tensor(std::vector<NamedTensor>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &NamedTensor::name);
}

}  // namespace

void add_loss_flags(CommandLine& line, LossRequest& request) {
  line.text({"RUN", "", "the run's folder"}, request.model.run)
      .required()
      .text({"--data", "DIR", "directory of the data, where it is no longer that of the run"}, request.data);
  add_state_flags(line, request.model);
  line.whole({"--samples", "N",
              "training samples that the loss is the mean of, rounded down to whole minibatches, or groups of them"},
             request.samples, 1)
      .whole({"--per-worker", "N", "samples of a minibatch; 0: as many as a worker of the run has"},
             request.per_minibatch, 0);
}

std::string to_text(const LossFacts& facts, double loss) {
  return fmt::format("{}\nloss {:.6g}, mean over {} training samples in minibatches of {}; {} parameters\n",
                     facts.description, loss, facts.samples, facts.per_minibatch, facts.parameters);
}

Json to_json(const LossFacts& facts, double loss) {
  return {{"model", facts.description},
          {"parameters", facts.parameters},
          {"samples", facts.samples},
          {"per_minibatch", facts.per_minibatch},
          {"loss", loss}};
}

LossGraph::LossGraph(const Task& task, int64_t samples, DType real, bool with_products)
    : graph(build_loss_graph(task, samples, real)) {
  std::vector<Tensor> parameters;
  for (const Variable& variable : graph.variables)
    if (variable.kind == VariableKind::parameter) names.push_back(variable.name);
  for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
  const std::vector<Tensor> gradient = gradients({graph, graph.outputs[0].value}, parameters);
  for (size_t i = 0; i < names.size(); ++i) {
    graph.outputs.push_back({kGradientOf + names[i], gradient[i].value(), Merge::sum});
    sizes.push_back(static_cast<size_t>(element_count(gradient[i].shape())));
  }
  if (with_products) add_products(parameters, gradient);
}

// A product of the Hessian with a vector is the gradient of the gradient's product with the vector, whose parts are
// inputs.
void LossGraph::add_products(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradient) {
  Tensor along;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor part = input(graph, kVectorOf + names[i], gradient[i].dtype(), gradient[i].shape());
    const Tensor product = sum(gradient[i] * part);
    along = along.valid() ? along + product : product;
  }
  const std::vector<Tensor> products = gradients(along, parameters);
  for (size_t i = 0; i < names.size(); ++i)
    graph.outputs.push_back({kProductOf + names[i], products[i].value(), Merge::sum});
}

RunLoss::RunLoss(const LossRequest& request, const std::optional<Recipe>& own, const Use& use,
                 const std::function<void(const std::string&)>& say)
    : model_(model_with_data(request, own, use.tool)),
      task_(plain_task(model_)),
      real_(model_.dtype() == DType::f64 ? DType::f64 : DType::f32),
      facts_(facts_of(request, model_, task_, use.groups)),
      graph_(task_, facts_.per_minibatch, real_, use.with_products),
      session_(*model_.backend, model_.store, compile(graph_.graph, options_for(model_.backend->target(), real_))),
      batch_(session_, task_.fields),
      names_{kTrainingPart, task_.plain.get()} {
  model_.load(graph_.graph.variables, say);
  session_.set_scalar(kLabelSmoothing, model_.config.learning.label_smoothing);
  fill_ = task_.plain->gather(Order::training(seed(), task_.plain->count(), facts_.per_minibatch), 0);
  facts_.description = model_.description;
  for (const size_t size : graph_.sizes) facts_.parameters += static_cast<int64_t>(size);
}

std::vector<double> RunLoss::parameters() const {
  std::vector<NamedTensor> tensors = model_.store.canonical(false);
  std::vector<double> values;
  for (const std::string& name : graph_.names) {
    const NamedTensor& tensor = find_tensor(tensors, name);
    for (int64_t i = 0; i < element_count(tensor.type.shape); ++i)
      values.push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
  }
  return values;
}

ValueAndGradient RunLoss::at(const std::vector<double>& parameters) {
  std::vector<NamedTensor> tensors = model_.store.canonical(false);
  std::span<const double> rest = parameters;
  for (const std::string& name : graph_.names) {
    NamedTensor& tensor = find_tensor(tensors, name);
    rest = take(rest, tensor.type, tensor.data.data());
  }
  model_.store.load(tensors);
  ValueAndGradient mean{0, std::vector<double>(parameters.size())};
  visit_gradients([&](double loss, const std::vector<double>& gradient) {
    mean.value += loss;
    std::ranges::transform(gradient, mean.gradient, mean.gradient.begin(), std::plus<>());
  });
  const auto count = static_cast<double>(minibatches());
  mean.value /= count;
  for (double& g : mean.gradient) g /= count;
  return mean;
}

std::vector<double> RunLoss::product(const std::vector<double>& vector) {
  double squares = 0;
  for (const double x : vector) squares += x * x;
  std::vector<double> product(vector.size());
  if (squares == 0) return product;
  const double size = std::sqrt(squares);
  set_vector(vector, size);
  for (int64_t i = 0; i < minibatches(); ++i) {
    step(i);
    add_outputs(LossGraph::kProductOf, product);
  }
  for (double& x : product) x *= size / static_cast<double>(minibatches());
  return product;
}

void RunLoss::step(int64_t minibatch) {
  batch_.fill(fill_, minibatch, names_);
  batch_.feed(session_);
  session_.step();
}

void RunLoss::add_outputs(const std::string& kind, std::vector<double>& sums) {
  auto at = sums.begin();
  for (const std::string& name : graph_.names) {
    session_.read(kind + name, values_);
    at = std::transform(values_.begin(), values_.end(), at, at, std::plus<>());
  }
}

void RunLoss::set_vector(const std::vector<double>& vector, double size) {
  std::vector<double> unit = vector;
  for (double& x : unit) x /= size;
  std::span<const double> rest = unit;
  for (const std::string& name : graph_.names) {
    const std::string part = LossGraph::kVectorOf + name;
    rest = take(rest, session_.input_type(part), session_.input(part));
  }
}

}  // namespace kb
