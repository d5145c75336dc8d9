// The flags of optimizer, hyper-parameters and learning rate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/config/flag_rows.h"
#include "recipes/config/learning.h"

namespace kb {
namespace {

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

FlagRow optimizer(const Recipe& recipe) {
  static constexpr const char* kName = "--optimizer";
  const std::vector<std::string> names = names_of(offered_optimizers(recipe.optimizers));
  return {{kName, "NAME", fmt::format("update rule: {}", fmt::join(names, ", "))},
          [=, &recipe](RunConfig& config, const std::string& value) {
            check_choice(kName, value, names);
            if (value != config.optimizer) use_optimizer(recipe.defaults, recipe.optimizers, config, value);
          },
          [](const RunConfig& config) { return config.optimizer; }};
}

// The optimizer's hyper-parameter of that name, or the end.
template <class Scalars>
auto find_hyper(Scalars& scalars, std::string_view name) {
  return std::find_if(scalars.begin(), scalars.end(), [&](const NamedScalar& s) { return s.name == name; });
}

FlagRow hyper_parameter(const HyperParameter& row, const std::string& readers, bool all_read_it) {
  std::string flag = fmt::format("--{}", row.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::string expected = std::isinf(row.below) ? "a number >= 0" : fmt::format("a number in [0, {})", row.below);
  return {
      {flag, "X", std::string(row.doc) + (all_read_it ? "" : fmt::format("; read by {}", readers))},
      [=](RunConfig& config, const std::string& value) {
        auto at = find_hyper(config.hyper, row.name);
        if (at == config.hyper.end())
          throw UsageError(fmt::format("{}: {} does not read it; those that do: {}", flag, config.optimizer, readers));
        at->value = parse_real(flag, value, expected, row.below);
      },
      [=](const RunConfig& config) {
        auto at = find_hyper(config.hyper, row.name);
        return at == config.hyper.end() ? "" : fmt::format("{}", at->value);
      }};
}

// One flag for every name, whichever optimizers read it.
std::vector<FlagRow> hyper_parameters(const Recipe& recipe) {
  std::vector<FlagRow> rows;
  std::vector<std::string_view> seen;
  const std::vector<Optimizer> offered = offered_optimizers(recipe.optimizers);
  for (const Optimizer& first : offered)
    for (const HyperParameter& row : first.hyper_parameters()) {
      if (std::find(seen.begin(), seen.end(), row.name) != seen.end()) continue;
      seen.push_back(row.name);
      std::vector<std::string_view> readers;
      for (const Optimizer& other : offered)
        if (other.reads(row.name)) readers.push_back(other.name);
      rows.push_back(
          hyper_parameter(row, fmt::format("{}", fmt::join(readers, ", ")), readers.size() == offered.size()));
    }
  return rows;
}

FlagRow milestones() {
  static constexpr const char* kName = "--milestones";
  return {{kName, "E,E", "epochs, from the start of the run, at which --schedule step takes a tenth"},
          [](RunConfig& config, const std::string& value) {
            config.milestones.clear();
            for (const std::string& word : comma_separated(value))
              config.milestones.push_back(parse_real(kName, word, "numbers >= 0, separated by commas",
                                                     std::numeric_limits<double>::infinity()));
          },
          [](const RunConfig& config) { return fmt::format("{}", fmt::join(config.milestones, ",")); }};
}

// The rate itself, or that of the base minibatch: one number, under the name that says which.
FlagRow rate(FlagText text, bool is_base) {
  FlagRow row = real(std::move(text), &RunConfig::lr);
  row.read = [=, read = row.read](RunConfig& config, const std::string& value) {
    read(config, value);
    if (!is_base) config.base_minibatch = 0;
  };
  row.print = [=, print = row.print](const RunConfig& config) {
    return (config.base_minibatch > 0) == is_base ? print(config) : "";
  };
  return row;
}

constexpr Role kRoles[] = {Role::weight, Role::bias, Role::norm_scale, Role::norm_shift, Role::embedding};

FlagRow roles(FlagText text, std::vector<Role> RunConfig::*member) {
  std::vector<std::string> names;
  for (const Role role : kRoles) names.emplace_back(name(role));
  text.doc += fmt::format(", separated by commas: {}; or none", fmt::join(names, ", "));
  return {text,
          [=](RunConfig& config, const std::string& value) {
            (config.*member).clear();
            for (const std::string& word : comma_separated(value)) {
              if (value == "none") break;
              check_choice(text.name, word, names);
              (config.*member).push_back(kRoles[std::find(names.begin(), names.end(), word) - names.begin()]);
            }
          },
          [=](const RunConfig& config) {
            std::vector<std::string_view> words;
            for (const Role role : config.*member) words.push_back(name(role));
            return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
          }};
}

std::function<bool(const RunConfig&)> is_scheduled(std::vector<std::string> shapes) {
  return [shapes = std::move(shapes)](const RunConfig& config) {
    return std::find(shapes.begin(), shapes.end(), config.schedule) != shapes.end();
  };
}

bool reads_end_rate(const RunConfig& config) {
  const auto& shapes = schedule_shapes();
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const ScheduleShape& shape) { return shape.name == config.schedule && shape.has_end_rate; });
}

bool asks_for_warmup(const RunConfig& config) { return config.warmup != "none"; }

std::vector<FlagRow> update_flags() {
  return {
      roles({"--no-decay", "ROLES", "parameters without weight decay"}, &RunConfig::no_decay),
      roles({"--no-adapt", "ROLES", "parameters that layer-wise rates (lars, lamb, ...) leave alone"},
            &RunConfig::no_adapt),
      real({"--clip-norm", "X", "scale the gradient down where its norm over all parameters exceeds X; 0: never"},
           &RunConfig::clip_norm),
      fraction({"--ema", "D",
                "average the parameters over steps, each time D of the average and 1 - D of the new ones; 0: no "
                "average; ./run export --ema writes it"},
               &RunConfig::ema),
      toggle({"--eval-ema", "", "evaluate the averaged parameters too"}, &RunConfig::eval_ema)
          .as(FlagEffect::comfort)
          .needs("--ema D, which averages the parameters,", "--ema",
                 [](const RunConfig& config) { return config.ema > 0; }),
  };
}

}  // namespace

void check_learning_flags(const RunConfig& config, const std::function<bool(const std::string& flag)>& given) {
  constexpr const char* kMeaning =
      "--lr X is the learning rate after the warmup as it is; --base-lr X is that of --base-minibatch B samples, from "
      "which --scaling derives it";
  for (const char* base : {"--base-lr", "--base-minibatch"})
    if (given("--lr") && given(base) && (config.base_minibatch > 0 || base == std::string_view("--base-lr")))
      throw UsageError(fmt::format("--lr, {}: expected one of them, got both\n  hint:     {}", base, kMeaning));
  if (given("--base-lr") && config.base_minibatch == 0)
    throw UsageError(
        fmt::format("--base-lr: expected --base-minibatch B beside it, got none\n  hint:     {}", kMeaning));
}

std::vector<FlagRow> learning_flags(const Recipe& recipe) {
  // Rows are read in this order, not in the command line's: the optimizer sets defaults that later ones replace.
  std::vector<FlagRow> rows = {
      optimizer(recipe).under("Optimizer and learning rate"),
      rate({"--lr", "X", "learning rate after the warmup, as it is; or --base-lr"}, false),
      rate(
          {"--base-lr", "X", "learning rate for --base-minibatch samples, from which --scaling derives that of a step"},
          true),
      whole({"--base-minibatch", "B", "samples for which --base-lr holds; 0: the rate is --lr for any minibatch"},
            &RunConfig::base_minibatch, true),
      choice({"--scaling", "RULE", "how the learning rate follows from --base-minibatch to --minibatch"},
             &RunConfig::scaling, names_of(scaling_rules()))
          .needs("--base-minibatch B", "--base-minibatch",
                 [](const RunConfig& config) { return config.base_minibatch > 0 || config.scaling == "none"; }),
      choice({"--schedule", "NAME", "learning rate after the warmup"}, &RunConfig::schedule,
             names_of(schedule_shapes())),
      milestones().needs("--schedule step", "--schedule", is_scheduled({"step"})),
      real({"--power", "P", "power of --schedule polynomial, mlperf"}, &RunConfig::power)
          .needs("--schedule polynomial or mlperf", "--schedule", is_scheduled({"polynomial", "mlperf"})),
      real({"--end-lr", "X", "learning rate at the end of --schedule polynomial, mlperf, cosine"}, &RunConfig::end_lr)
          .needs("--schedule polynomial, mlperf or cosine", "--schedule", reads_end_rate),
      choice({"--warmup", "NAME", "how the learning rate begins"}, &RunConfig::warmup, names_of(warmup_kinds())),
      real({"--warmup-epochs", "E",
            "epochs of the warmup; none without --warmup-from where --minibatch does not "
            "exceed --base-minibatch"},
           &RunConfig::warmup_epochs)
          .needs("a --warmup", "--warmup", asks_for_warmup),
      optional_real({"--warmup-from", "X",
                     fmt::format("learning rate at which the warmup starts; not given: --base-lr, and {} with --lr",
                                 recipe.defaults.warmup_start)},
                    &RunConfig::warmup_from)
          .needs("a --warmup", "--warmup", asks_for_warmup),
  };
  for (const std::vector<FlagRow>& more : {hyper_parameters(recipe), update_flags()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace kb
