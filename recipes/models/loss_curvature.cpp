#include "recipes/models/loss_curvature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/train/feed.h"
#include "runtime/session.h"

namespace kb {
namespace {

constexpr const char *kGradientOf = "gradient.", *kVectorOf = "vector.", *kProductOf = "product.";

// The loss of a minibatch, its gradient, and the product of its Hessian with a vector: the gradient of the gradient's
// product with the vector, whose parts are inputs.
struct ProductGraph {
  ProductGraph(const Task& task, int64_t samples, DType real) : graph(build_loss_graph(task, samples, real)) {
    std::vector<Tensor> parameters;
    for (const Variable& variable : graph.variables)
      if (variable.kind == VariableKind::parameter) names.push_back(variable.name);
    for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
    const std::vector<Tensor> gradient = gradients({graph, graph.outputs[0].value}, parameters);
    Tensor along;
    for (size_t i = 0; i < names.size(); ++i) {
      const Tensor part = input(graph, kVectorOf + names[i], gradient[i].dtype(), gradient[i].shape());
      const Tensor product = sum(gradient[i] * part);
      along = along.valid() ? along + product : product;
      add_output(kGradientOf + names[i], gradient[i]);
      sizes.push_back(static_cast<size_t>(element_count(gradient[i].shape())));
    }
    const std::vector<Tensor> products = gradients(along, parameters);
    for (size_t i = 0; i < names.size(); ++i) add_output(kProductOf + names[i], products[i]);
  }

  void add_output(const std::string& name, Tensor value) { graph.outputs.push_back({name, value.value(), Merge::sum}); }

  std::vector<std::string> names = {};  // names of the parameters
  std::vector<size_t> sizes = {};       // their elements
  Graph graph;
};

void check_any(const Recipe&, const std::filesystem::path&) {}

RunConfig with_data(RunConfig config, const std::string& data) {
  if (!data.empty()) config.data.path = data;
  return config;
}

Task plain_task(const RunModel& model) {
  Task task = load_task(model.recipe, model.config).task;
  if (task.is_ragged())
    throw Error(fmt::format("{}: expected samples of one length, got those of {}, which differ",
                            model.request.run.string(), task.name));
  if (!task.plain) task.plain = task.train;
  return task;
}

CompileOptions options_for(const Target& target, DType real) {
  CompileOptions options;
  options.target = target;
  options.precision = real == DType::f64 ? Precision::f64 : Precision::f32;
  return options;
}

// The loss of a run's model over some of its training samples, as a function of the parameters.
class RunLoss {
 public:
  RunLoss(RunModel& model, const CurvatureRequest& request, const std::function<void(const std::string&)>& say)
      : task_(plain_task(model)),
        per_minibatch_(request.per_minibatch > 0 ? request.per_minibatch : batch_plan(model.config).per_worker),
        count_(std::min(request.samples, task_.plain->count()) / per_minibatch_ / request.groups * request.groups),
        real_(model.dtype() == DType::f64 ? DType::f64 : DType::f32),
        program_(task_, per_minibatch_, real_),
        session_(*model.backend, model.store, compile(program_.graph, options_for(model.backend->target(), real_))),
        batch_(session_, task_.fields),
        names_{kTrainingPart, task_.plain.get()} {
    if (count_ == 0)
      throw Error(
          fmt::format("--samples {}: expected {} or more, {} groups of a minibatch of {}; got {} training samples",
                      request.samples, request.groups * per_minibatch_, request.groups, per_minibatch_,
                      std::min(request.samples, task_.plain->count())));
    model.load(program_.graph.variables, say);
    session_.set_scalar(kLabelSmoothing, model.config.learning.label_smoothing);
    const Order order =
        Order::training(static_cast<uint64_t>(model.config.arithmetic.seed), task_.plain->count(), per_minibatch_);
    fill_ = task_.plain->gather(order, 0);
    for (const size_t size : program_.sizes) parameters_ += static_cast<int64_t>(size);
  }

  int64_t parameters() const { return parameters_; }
  int64_t per_minibatch() const { return per_minibatch_; }
  int64_t minibatches() const { return count_; }

  // Calls visit(loss, gradient) for each minibatch.
  template <class Visit>
  void visit_gradients(Visit visit) {
    std::vector<double> gradient(static_cast<size_t>(parameters_));
    for (int64_t i = 0; i < count_; ++i) {
      step(i);
      std::ranges::fill(gradient, 0.0);
      add_outputs(kGradientOf, gradient);
      visit(session_.read_scalar("loss"), std::as_const(gradient));
    }
  }

  // Returns the product of the mean loss's Hessian with a vector. It is linear in the vector, whose size f32 has to
  // hold: it is computed for the unit vector.
  std::vector<double> product(const std::vector<double>& vector) {
    double squares = 0;
    for (const double x : vector) squares += x * x;
    std::vector<double> product(vector.size());
    if (squares == 0) return product;
    const double size = std::sqrt(squares);
    set_vector(vector, size);
    for (int64_t i = 0; i < count_; ++i) {
      step(i);
      add_outputs(kProductOf, product);
    }
    for (double& x : product) x *= size / static_cast<double>(count_);
    return product;
  }

 private:
  void step(int64_t minibatch) {
    batch_.fill(fill_, minibatch, names_);
    batch_.feed(session_);
    session_.step();
  }

  void add_outputs(const std::string& kind, std::vector<double>& sums) {
    auto at = sums.begin();
    for (const std::string& name : program_.names) {
      session_.read(kind + name, values_);
      at = std::transform(values_.begin(), values_.end(), at, at, std::plus<>());
    }
  }

  void set_vector(const std::vector<double>& vector, double size) {
    auto from = vector.begin();
    for (size_t i = 0; i < program_.names.size(); ++i) {
      std::byte* to = session_.input(kVectorOf + program_.names[i]);
      for (size_t e = 0; e < program_.sizes[i]; ++e, ++from) {
        if (real_ == DType::f64)
          reinterpret_cast<double*>(to)[e] = *from / size;
        else
          reinterpret_cast<float*>(to)[e] = static_cast<float>(*from / size);
      }
    }
  }

  Task task_;
  const int64_t per_minibatch_, count_;  // samples of a minibatch, minibatches
  const DType real_;
  ProductGraph program_;
  Session session_;
  HostBatch batch_;
  FieldFill fill_;
  const SampleNames names_;
  int64_t parameters_ = 0;
  std::vector<double> values_;
};

}  // namespace

LossCurvature loss_curvature(const CurvatureRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say) {
  RunModel model(request.model, own, {"curvature", "", check_any});
  model.config = with_data(model.config, request.data);
  RunLoss loss(model, request, say);
  LossCurvature found;
  found.description = model.description;
  found.parameters = loss.parameters();
  found.samples = loss.minibatches() * loss.per_minibatch();
  found.per_minibatch = loss.per_minibatch();
  const auto seed = static_cast<uint64_t>(model.config.arithmetic.seed);
  const auto product = [&](const std::vector<double>& vector) { return loss.product(vector); };
  GradientGroups groups(loss.parameters(), request.groups);
  loss.visit_gradients([&](double value, const std::vector<double>& gradient) {
    found.loss += value / static_cast<double>(loss.minibatches());
    groups.add(gradient);
  });
  found.spectrum =
      lanczos(product, loss.parameters(), {request.eigenvalues, request.tolerance, request.most_products, seed});
  found.noise = curvature_noise(groups, loss.per_minibatch(), product);
  return found;
}

}  // namespace kb
