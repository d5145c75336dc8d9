#include "tests/optim/rule_run.h"

#include <algorithm>

#include "graph/functions.h"

namespace kb::test {
namespace {

// Returns the loss sum(w g) over all layers, whose gradient in w is g itself.
Graph sum_of_products(const std::vector<Layer>& layers, DType dtype) {
  Graph graph("final");
  Tensor loss;
  for (const Layer& layer : layers) {
    const Dims shape = layer.shape.empty() ? Dims{static_cast<int64_t>(layer.values.size())} : layer.shape;
    Tensor w = parameter(graph, layer.name, layer.role, {dtype, shape, ""}, {}, layer.rate);
    Tensor products = sum(w * input(graph, "gradient." + layer.name, dtype, shape));
    loss = loss.valid() ? loss + products : products;
  }
  graph.outputs.push_back({"loss", loss.value(), Merge::sum});
  return graph;
}

void store_values(const Type& type, std::byte* to, const Vector& values) {
  ensure(std::ssize(values) == type.elements(), "RuleRun: as many values as the layer has");
  for (size_t i = 0; i < values.size(); ++i) store_element(type.dtype, to, static_cast<int64_t>(i), values[i]);
}

}  // namespace

const Optimizer& optimizer_named(const std::string& name) {
  const auto at = std::ranges::find_if(optimizers(), [&](const Optimizer& row) { return row.name == name; });
  ensure(at != optimizers().end(), "no optimizer of that name");
  return *at;
}

CompileOptions RuleRun::f64_options() {
  CompileOptions options;
  options.precision = Precision::f64;
  options.groups = {{}};
  return options;
}

RuleRun::RuleRun(const Optimizer& optimizer, std::vector<NamedScalar> hyper, const std::vector<Layer>& layers,
                 CompileOptions options)
    : optimizer_(optimizer),
      hyper_(std::move(hyper)),
      layers_(layers),
      backend_(make_cpu_backend({1, 1, ""})),
      store_(*backend_),
      session_(*backend_, store_, compiled(std::move(options))) {
  store_.initialise(1);
  for (const Layer& layer : layers_) set(layer.name, layer.values);
}

Compiled RuleRun::compiled(CompileOptions options) const {
  options.target = backend_->target();
  options.groups.at(0).rule = update_rule(optimizer_);
  return compile(sum_of_products(layers_, options.precision == Precision::f64 ? DType::f64 : DType::f32), options);
}

void RuleRun::step(double rate, const std::vector<Vector>& gradients) {
  ensure(gradients.size() == layers_.size(), "RuleRun: a gradient for each layer");
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string name = "gradient." + layers_[i].name;
    store_values(session_.input_type(name), session_.input(name), gradients[i]);
  }
  StepScalars scalars(LearningRate({.learning_rate = rate}), optimizer_, hyper_);
  for (const NamedScalar& scalar : scalars.at(steps_)) session_.set_scalar(scalar.name, scalar.value);
  session_.set_scalar("previous_learning_rate", steps_ > 0 ? rate_before_ : rate);
  session_.step();
  ++steps_;
  rate_before_ = rate;
}

Vector RuleRun::operator[](const std::string& name) const {
  for (const TensorView& view : store_.views()) {
    if (view.name != name) continue;
    Vector values;
    for (int64_t i = 0; i < view.type.elements(); ++i) values.push_back(load_element(view.type.dtype, view.data, i));
    return values;
  }
  throw Error("RuleRun has no tensor " + name);
}

void RuleRun::set(const std::string& layer, const Vector& values) {
  for (NamedTensor& tensor : store_.canonical(false)) {
    if (tensor.name != layer) continue;
    store_values(tensor.type, tensor.data.data(), values);
    store_.load({tensor});
  }
}

}  // namespace kb::test
