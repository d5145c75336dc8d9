// Tests every update rule against a loop over doubles written from the papers, and some against PyTorch.
#include "optim/optimizer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "graph/error.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "graph/layers.h"
#include "optim/update_rules.h"
#include "tests/optim/plain_update.h"
#include "tests/support/compile_check.h"
#include "tests/support/says.h"

namespace kb::optimizer_test {
namespace {

using test::Plain;
using test::plain_update;
using Vector = std::vector<double>;

const Optimizer& row(const std::string& name) {
  for (const Optimizer& optimizer : optimizers())
    if (optimizer.name == name) return optimizer;
  throw Error("no optimizer " + name);
}

Graph one_matrix() {
  Graph graph("final");
  const Tensor x = input(graph, "x", DType::f32, {4, 5}, "NC");
  const Tensor y = linear("fc", x, 3, {.bias = false});
  graph.outputs.push_back({"loss", sum(y * y).value(), Merge::sum});
  return graph;
}

// Two layers, a weight, a bias, and the scale and the shift of a norm between them.
Graph normed_layers() {
  Graph graph("final");
  const Tensor x = linear("fc1", input(graph, "x", DType::f32, {4, 5}, "NC"), 6);
  const Tensor y = linear("fc2", batch_norm("bn", x), 3, {.bias = false});
  graph.outputs.push_back({"loss", sum(y * y).value(), Merge::sum});
  return graph;
}

// A rule in f64 over a plain vector, run by the graph interpreter.
class Interpreted {
 public:
  Interpreted(const UpdateRule& rule, Vector parameter) : size_(static_cast<int64_t>(parameter.size())) {
    state_["parameter"] = std::move(parameter);
    UpdateContext context;
    context.parameter = vector("parameter");
    context.gradient = vector("gradient");
    context.decay = context.decoupled_decay = [this] { return vector("decay"); };
    context.adapt = [this] { return vector("adapt"); };
    context.norm = [](Tensor x) { return sqrt(sum(x * x, {0}, true)); };  // all elements are one layer
    context.spread = [](Tensor x) { return x; };
    context.slot = [this](const std::string& name) {
      state_.try_emplace(name, static_cast<size_t>(size_), 0.0);
      return vector(name);
    };
    context.gradient_offset = context.slot;
    context.set_slot = [this](const std::string& name, Tensor value) { output(name, value); };
    context.scalar = [this](const std::string& name) {
      return leaf(name, [&] { return scalar_input(graph_, name, DType::f64); });
    };
    output("parameter", rule(context));
  }

  void step(std::span<const NamedScalar> scalars, const Vector& gradient, const Vector& decay) {
    Bindings bindings;
    for (const auto& [name, values] : state_) bind(bindings, name, values);
    bind(bindings, "gradient", gradient);
    bind(bindings, "decay", decay);
    bind(bindings, "adapt", Vector(decay.size(), 1));
    for (const NamedScalar& scalar : scalars)
      if (leaves_.contains(scalar.name)) bindings[scalar.name] = {{DType::f64, {}, ""}, {scalar.value}};
    for (const auto& [name, array] : interpret(graph_, bindings).outputs) state_[name] = array.data;
  }

  const Vector& operator[](const std::string& name) const { return state_.at(name); }
  Vector& operator[](const std::string& name) { return state_.at(name); }

 private:
  Tensor leaf(const std::string& name, const std::function<Tensor()>& make) {
    auto at = leaves_.find(name);
    return at != leaves_.end() ? at->second : leaves_.emplace(name, make()).first->second;
  }
  Tensor vector(const std::string& name) {
    return leaf(name, [&] { return input(graph_, name, DType::f64, {size_}); });
  }
  void output(const std::string& name, Tensor value) { graph_.outputs.push_back({name, value.value(), Merge::first}); }
  void bind(Bindings& bindings, const std::string& name, const Vector& values) {
    if (leaves_.contains(name)) bindings[name] = {{DType::f64, {size_}, ""}, values};
  }

  Graph graph_{"rule"};
  int64_t size_;
  std::map<std::string, Tensor> leaves_;
  std::map<std::string, Vector> state_;
};

LearningRate warm_cosine(int64_t steps) {
  return LearningRate({.shape = "cosine",
                       .learning_rate = 0.3,
                       .warmup_epochs = 0.5,
                       .warmup_start = 0.01,
                       .steps_per_epoch = 10,
                       .total_steps = steps});
}

double noise(int64_t i) { return std::sin(12.9898 * static_cast<double>(i + 1)) * 1.7; }

// Returns the gradient of the loss w^2 / 2 + sin 3w, element by element.
Vector toy_gradient(const Vector& w) {
  Vector g;
  for (double x : w) g.push_back(x + 3 * std::cos(3 * x));
  return g;
}

// Returns the largest difference, which is taken relative to values above 1.
double difference(const Vector& a, const Vector& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]) / std::max(std::abs(a[i]), 1.0));
  return most;
}

// Returns the largest difference of parameters and velocities over a run between eq. 9 of Goyal et al. 2017 and eq. 10,
// of which `form` names the variant.
double difference_of_forms(const std::string& form, const ScheduleSpec& spec) {
  const NamedScalar hyper[] = {{"momentum", 0.9}, {"weight_decay", 0.01}};
  StepScalars free(LearningRate(spec), row("momentum"), hyper), scaled(LearningRate(spec), row(form), hyper);
  const Vector start = {1, -0.5, 2, 0.1}, decay = {1, 0, 1, 0};
  Interpreted a(row("momentum").update, start), b(row(form).update, start);
  double most = 0;
  for (int64_t t = 0; t < spec.total_steps; ++t) {
    a.step(free.at(t), toy_gradient(a["parameter"]), decay);
    b.step(scaled.at(t), toy_gradient(b["parameter"]), decay);
    Vector velocity = a["velocity"];
    for (double& v : velocity) v *= free.rate().at(t);
    most = std::max({most, difference(a["parameter"], b["parameter"]), difference(velocity, b["scaled_velocity"])});
  }
  return most;
}

// Counts the launches of a training step, without the copies that clear what lies between segments.
int64_t launches(const Optimizer& optimizer, Precision precision, const Target& target) {
  CompileOptions options;
  options.target = target;
  options.precision = precision;
  options.groups = {{.rule = update_rule(optimizer)}};
  const Compiled compiled = compile(test::small_convnet(4), options);
  int64_t count = 0;
  for (const Schedule* schedule : compiled.program.all())
    count += std::ranges::count_if(schedule->steps, [](const Step& step) { return step.cls != FusionClass::copy; });
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer)

BOOST_AUTO_TEST_CASE(every_rule_equals_its_formula) {
  constexpr int64_t kSteps = 40, kSize = 8;
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.takes_matrices) continue;  // tests/optim/matrix_rules_test.cpp, shampoo_test.cpp
    const NamedScalar known[] = {{"momentum", 0.85}, {"weight_decay", 0.03}, {"beta", 0.7},
                                 {"beta1", 0.8},     {"beta2", 0.97},        {"epsilon", 1e-3}};
    std::vector<NamedScalar> hyper;
    for (const NamedScalar& scalar : known)
      if (optimizer.reads(scalar.name)) hyper.push_back(scalar);
    const LearningRate rate = warm_cosine(kSteps);
    StepScalars scalars(rate, optimizer, hyper);
    Vector start, decay;
    std::vector<Plain> plain;
    for (int64_t i = 0; i < kSize; ++i) {
      start.push_back(noise(100 + i));
      decay.push_back(i % 3 == 0 ? 0 : 1);
      plain.push_back({start.back(), 0, 0});
    }
    Interpreted rule(optimizer.update, start);
    const std::vector<NamedScalar> all = hyper_values(optimizer, hyper);
    double squares = 0;
    for (int64_t t = 0; t < kSteps; ++t) {
      squares += rate.at(t) * rate.at(t);
      Vector gradient;
      for (int64_t i = 0; i < kSize; ++i) gradient.push_back(noise(t * kSize + i));
      rule.step(scalars.at(t), gradient, decay);
      plain_update(std::string(optimizer.name), plain, gradient, decay,
                   {rate.at(t), rate.at(std::max<int64_t>(t - 1, 0)), static_cast<double>(t + 1), all, true,
                    rate.spec().learning_rate, static_cast<double>(t) / 10, squares});
      Vector expected;
      for (const Plain& p : plain) expected.push_back(p.w);
      BOOST_TEST(difference(rule["parameter"], expected) < 1e-12, optimizer.name << " step " << t);
    }
  }
}

// The numbers are from PyTorch 2.15 in float64. From w = 1 each optimizer takes six steps on w^2 / 2 + sin 3w with lr
// 0.1, weight_decay 0.1 and MultiStepLR([3], gamma=0.1): SGD plain, with momentum 0.9 and with nesterov=True; Adam and
// AdamW with betas (0.8, 0.95) and eps 1e-3.
BOOST_AUTO_TEST_CASE(conventions_are_pytorchs) {
  const std::map<std::string, Vector> pytorch = {
      {"sgd",
       {1.1869977489801335, 1.3304279537703687, 1.3821454100568142, 1.3830284181917545, 1.3838345773686116,
        1.3845704776420316}},
      {"momentum",
       {1.1869977489801335, 1.4987259278524891, 1.6787806114429307, 1.6669694577725656, 1.6294667615476157,
        1.5725370833721648}},
      {"nesterov",
       {1.355295723062254, 1.5668738721396314, 1.4080516648744574, 1.4062605419978096, 1.4035395153785026,
        1.4003016146943876}},
      {"adam",
       {1.0999465520026055, 1.1995619236191224, 1.2969510203491006, 1.3059645170837217, 1.3144700458397076,
        1.3225704773071014}},
      {"adamw",
       {1.0899492637533825, 1.1787864193870852, 1.265321734878088, 1.2734622261912658, 1.2813164744528822,
        1.288953648992048}},
  };
  for (const auto& [name, expected] : pytorch) {
    std::vector<NamedScalar> hyper = {{"weight_decay", 0.1}};
    if (name.starts_with("adam")) hyper.insert(hyper.end(), {{"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-3}});
    LearningRate rate({.shape = "step", .learning_rate = 0.1, .milestones = {3}, .total_steps = 6});
    StepScalars scalars(rate, row(name), hyper);
    Interpreted rule(row(name).update, {1});
    for (int64_t t = 0; t < 6; ++t) {
      rule.step(scalars.at(t), toy_gradient(rule["parameter"]), {1});
      BOOST_TEST(rule["parameter"][0] == expected[static_cast<size_t>(t)], boost::test_tools::tolerance(1e-13));
    }
  }
}

BOOST_AUTO_TEST_CASE(both_forms_of_momentum_coincide_under_any_schedule) {
  for (const ScheduleShape& shape : offered_shapes({}))
    for (const WarmupKind& warmup : warmup_kinds()) {
      if (shape.needs_warmup && warmup.rate == nullptr) continue;
      const ScheduleSpec spec{.shape = std::string(shape.name),
                              .learning_rate = 0.05,
                              .warmup = std::string(warmup.name),
                              .warmup_epochs = 2,
                              .warmup_start = 0.001,
                              .milestones = {4, 7},
                              .steps_per_epoch = 10,
                              .total_steps = 100};
      BOOST_TEST(difference_of_forms("scaled-momentum", spec) < 1e-12, shape.name << ", warmup " << warmup.name);
      // The uncorrected form differs wherever the rate changes. That of slow-start drops after these 10 epochs.
      const bool changes = (shape.name != "constant" && shape.name != "slow-start") || warmup.name != "none";
      BOOST_TEST((difference_of_forms("uncorrected-momentum", spec) > 1e-3) == changes);
    }
}

BOOST_AUTO_TEST_CASE(after_a_rate_of_zero_the_velocity_is_kept_as_it_is) {
  Interpreted rule(scaled_momentum_update, {1});
  const NamedScalar scalars[] = {
      {"learning_rate", 0.5}, {"previous_learning_rate", 0}, {"momentum", 0.9}, {"weight_decay", 0}};
  rule["scaled_velocity"] = {0.3};
  rule.step(scalars, {2}, {1});
  BOOST_TEST(rule["scaled_velocity"][0] == 0.9 * 0.3 + 0.5 * 2, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(a_warmup_from_zero_makes_no_infinity) {
  StepScalars scalars(LearningRate({.learning_rate = 0.1, .warmup_epochs = 1, .steps_per_epoch = 5, .total_steps = 10}),
                      row("scaled-momentum"), {});
  Interpreted rule(row("scaled-momentum").update, {1});
  for (int64_t t = 0; t < 10; ++t) rule.step(scalars.at(t), toy_gradient(rule["parameter"]), {1});
  BOOST_TEST(std::isfinite(rule["parameter"][0]));
  BOOST_TEST(rule["parameter"][0] != 1);
}

BOOST_AUTO_TEST_CASE(scalars_follow_the_step) {
  const NamedScalar hyper[] = {{"beta1", 0.5}};
  StepScalars scalars(LearningRate({.shape = "polynomial", .learning_rate = 0.2, .power = 1, .total_steps = 10}),
                      row("adam"), hyper);
  std::map<std::string, double> at;
  for (const NamedScalar& scalar : scalars.at(2)) at[scalar.name] = scalar.value;
  const auto near = boost::test_tools::tolerance(1e-15);
  BOOST_TEST(at.at("learning_rate") == 0.16, near);
  BOOST_TEST(at.at("previous_learning_rate") == 0.18, near);
  BOOST_TEST(at.at("updates") == 3);
  BOOST_TEST(at.at("beta1") == 0.5);
  BOOST_TEST(at.at("beta2") == 0.999);
  BOOST_TEST(at.at("bias1") == 0.875, near);
  BOOST_TEST(scalars.at(0)[1].value == 0.2);
}

// AdaScale takes steps of the schedule that are longer than one: the rate has its step's gain, and the updates count.
BOOST_AUTO_TEST_CASE(scalars_follow_the_place_in_the_schedule_and_its_gain) {
  const ScheduleSpec falling{
      .shape = "polynomial", .learning_rate = 0.2, .power = 1, .steps_per_epoch = 5, .total_steps = 10};
  const auto near = boost::test_tools::tolerance(1e-14);
  StepScalars scalars(LearningRate(falling), row("adam"), {});
  const std::span<const NamedScalar> adam = scalars.at(3, {.step = 6, .gain = 3}, {.step = 4, .gain = 2});
  BOOST_TEST(adam[0].value == 3 * 0.08, near);
  BOOST_TEST(adam[1].value == 2 * 0.12, near);
  BOOST_TEST(adam[2].value == 4);
  StepScalars at_place(LearningRate(falling), row("rmsprop-warmup"), {}),
      by_steps(LearningRate(falling), row("rmsprop-warmup"), {});
  const std::span<const NamedScalar> place = at_place.at(3, {.step = 6}, {.step = 5}), step = by_steps.at(6);
  for (size_t i = 3; i < step.size(); ++i) BOOST_TEST(place[i].value == step[i].value, step[i].name);
  StepScalars mean(LearningRate(falling), row("schedule-free-adamw"), {}),
      all(LearningRate(falling), row("schedule-free-adamw"), {});
  BOOST_TEST(mean.at(3, {.step = 6}, {.step = 5}).back().value == all.at(6).back().value);
}

BOOST_AUTO_TEST_CASE(wrong_hyper_parameters_are_refused) {
  auto given = [](const char* name, double value) {
    return test::error_of([&] {
      const NamedScalar hyper[] = {{name, value}};
      hyper_values(row("adam"), hyper);
    });
  };
  BOOST_TEST(given("momentum", 0.9) == "optimizer adam has no hyper-parameter 'momentum'");
  BOOST_TEST(given("beta1", 1) == "optimizer adam: beta1: expected a number in [0, 1), got 1");
  BOOST_TEST(given("weight_decay", -1) == "optimizer adam: weight_decay: expected a number in [0, inf), got -1");
}

// Whether another value of the hyper-parameter changes a derived scalar in some step of a run.
bool changes_a_derived_scalar(const Optimizer& optimizer, const HyperParameter& hyper) {
  const NamedScalar other[] = {{std::string(hyper.name), hyper.value == 0 || hyper.least > 0 ? 0.5 : 0}};
  StepScalars as_it_is(warm_cosine(40), optimizer, {}), changed(warm_cosine(40), optimizer, other);
  const size_t first_derived = 3 + optimizer.hyper_parameters().size();
  for (int64_t t = 0; t < 40; ++t) {
    const std::span<const NamedScalar> a = as_it_is.at(t), b = changed.at(t);
    for (size_t i = first_derived; i < a.size(); ++i)
      if (a[i].value != b[i].value) return true;
  }
  return false;
}

// A flag of an optimizer thus always has an effect, and another value of it never needs another program.
BOOST_AUTO_TEST_CASE(every_scalar_of_a_row_is_an_input_of_the_compiled_step) {
  for (const Optimizer& optimizer : optimizers()) {
    CompileOptions options;
    options.target = generic_cpu_target();
    options.groups = {{.rule = update_rule(optimizer)}};
    const Compiled compiled = compile(optimizer.takes_matrices ? one_matrix() : test::small_convnet(4), options);
    std::vector<std::string> inputs;
    for (const Node& node : compiled.program.at(PartRole::final).graph->nodes)
      if (node.op == Op::input) inputs.push_back(node.attrs.text("name"));
    auto check = [&](std::string_view name) {
      BOOST_TEST(std::count(inputs.begin(), inputs.end(), name) == 1, optimizer.name << " " << name);
    };
    check("learning_rate");
    for (const HyperParameter& hyper : optimizer.hyper_parameters())
      if (!changes_a_derived_scalar(optimizer, hyper)) check(hyper.name);
    for (const DerivedScalar& derived : optimizer.derived_scalars()) check(derived.name);
  }
}

// The launches are counted as a difference to plain gradient descent, whose update is one launch. A rule that takes its
// gradient at an offset has one launch more, which adds the offset.
BOOST_AUTO_TEST_CASE(an_update_is_one_launch_and_with_norms_three) {
  for (Precision precision : {Precision::f32, Precision::bf16})
    for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
      const int64_t others = launches(row("sgd"), precision, target) - 1;
      for (const Optimizer& optimizer : optimizers()) {
        if (optimizer.takes_matrices) continue;
        const int64_t own = launches(optimizer, precision, target) - others;
        const int64_t most = optimizer.name.starts_with("la") ? 3 : optimizer.schedule_free ? 2 : 1;
        BOOST_TEST(own <= most, optimizer.name << ' ' << own);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_compiled_step_equals_its_interpretation) {
  for (const Optimizer& optimizer : optimizers())
    for (Precision precision : {Precision::f32, Precision::f64}) {
      test::CheckOptions options;
      options.optimizer = update_rule(optimizer);
      options.precision = precision;
      test::check_compiled(optimizer.takes_matrices ? one_matrix() : normed_layers(), options);
    }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kb::optimizer_test
