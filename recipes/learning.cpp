#include "recipes/learning.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/suggest.h"

namespace kb {
namespace {

ReferenceRate reference(const Flags& flags) { return {flags.lr, flags.base_minibatch, flags.scaling}; }

// Whether the rate is one of a base minibatch's that this minibatch does not exceed.
bool within_base(const Flags& flags) {
  return flags.base_minibatch > 0 && reference(flags).at(flags.minibatch) <= flags.lr;
}

}  // namespace

std::vector<Optimizer> offered_optimizers(const Recipe& recipe) {
  std::vector<Optimizer> offered = recipe.optimizers;
  offered.insert(offered.end(), optimizers().begin(), optimizers().end());
  return offered;
}

Optimizer find_optimizer(const Recipe& recipe, const std::string& name) {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : offered_optimizers(recipe)) {
    if (optimizer.name == name) return optimizer;
    names.emplace_back(optimizer.name);
  }
  throw Error(fmt::format("recipe {}: there is no optimizer '{}'{}", recipe.name, name, suggestion(name, names)));
}

void use_optimizer(const Recipe& recipe, Flags& flags, const std::string& name) {
  const Defaults& d = recipe.defaults;
  const Optimizer own = find_optimizer(recipe, d.optimizer), chosen = find_optimizer(recipe, name);
  std::vector<NamedScalar> recipes = hyper_values(own, d.hyper), given;
  const bool alike = chosen.learning_rate == own.learning_rate;
  for (NamedScalar& scalar : recipes)
    if (alike && chosen.reads(scalar.name)) given.push_back(std::move(scalar));
  flags.optimizer = name;
  flags.lr = alike ? d.lr : chosen.learning_rate;
  flags.hyper = hyper_values(chosen, given);
}

LearningRate make_rate(const Recipe& recipe, const Flags& flags, const RunPlan& plan) {
  ScheduleSpec spec;
  spec.shape = flags.schedule;
  spec.learning_rate = reference(flags).at(flags.minibatch);
  spec.warmup = within_base(flags) ? "none" : flags.warmup;
  spec.warmup_epochs = flags.warmup_epochs;
  spec.warmup_start = flags.base_minibatch > 0 ? flags.lr : recipe.defaults.warmup_start;
  spec.milestones = flags.milestones;
  spec.power = flags.power;
  spec.steps_per_epoch = plan.steps_per_epoch;
  spec.total_steps = plan.steps;
  return LearningRate(std::move(spec));
}

StepScalars make_scalars(const Recipe& recipe, const Flags& flags, const RunPlan& plan) {
  return {make_rate(recipe, flags, plan), find_optimizer(recipe, flags.optimizer), flags.hyper};
}

std::string rate_derivation(const Recipe& recipe, const Flags& flags, const RunPlan& plan) {
  const bool left_out = within_base(flags) && flags.warmup != "none" && flags.warmup_epochs > 0;
  return fmt::format("lr {}, {}{}", reference(flags).derivation(flags.minibatch),
                     left_out ? "no warmup (not above the base rate), " : "",
                     make_rate(recipe, flags, plan).description());
}

std::string optimizer_text(const Flags& flags) {
  std::string text = "optimizer " + flags.optimizer;
  for (size_t i = 0; i < flags.hyper.size(); ++i) {
    std::string words = flags.hyper[i].name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", words, flags.hyper[i].value);
  }
  return text;
}

}  // namespace kb
