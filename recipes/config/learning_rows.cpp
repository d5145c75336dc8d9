#include "recipes/config/learning_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "recipes/config/learning.h"

namespace kb {
namespace {

FlagRow hyper_parameter(const HyperParameter& row, const std::string& readers, bool all_read_it) {
  std::string flag = fmt::format("--{}", row.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::string expected =
      std::isinf(row.below) ? "a number >= 0" : fmt::format("a number in [{}, {})", row.least, row.below);
  FlagRow made = {{flag, "X", std::string(row.doc) + (all_read_it ? "" : fmt::format("; read by {}", readers))},
                  [=](RunConfig& config, const std::string& value) {
                    auto at = std::ranges::find(config.learning.hyper, row.name, &NamedScalar::name);
                    if (at == config.learning.hyper.end())
                      throw UsageError(fmt::format("{}: {} does not read it; those that do: {}", flag,
                                                   config.learning.optimizer, readers));
                    at->value = parse_real(flag, value, expected, row.below);
                    if (at->value < row.least) refuse_value(flag, expected, value);
                  },
                  [=](const RunConfig& config) {
                    // A beta2 that follows from --half-life is not printed.
                    const bool follows = row.name == kBeta2Name && config.learning.half_life > 0;
                    return follows ? "" : value_text(find_hyper(config.learning, row.name));
                  }};
  made.member = fmt::format("learning.hyper.{}", row.name);
  return made;
}

constexpr Role kRoles[] = {Role::weight, Role::bias, Role::norm_scale, Role::norm_shift, Role::embedding};

}  // namespace

FlagRow optimizer_row(const Recipe& recipe) {
  static constexpr const char* kName = "--optimizer";
  const std::vector<std::string> names = names_of(offered_optimizers(recipe.optimizers));
  return {{kName, "NAME", fmt::format("update rule: {}", fmt::join(names, ", "))},
          [=, &recipe](RunConfig& config, const std::string& value) {
            check_choice(kName, value, names);
            if (value != config.learning.optimizer)
              use_optimizer(recipe.defaults, recipe.optimizers, config.learning, value);
          },
          [](const RunConfig& config) { return config.learning.optimizer; }};
}

std::vector<FlagRow> hyper_parameter_rows(const Recipe& recipe) {
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

FlagRow milestones_row(Member<std::vector<double>> member) {
  return row_of({"--milestones", "E,E", "epochs, from the start of the run, at which --schedule step takes a tenth"},
                member, [](const std::string& name, const std::string& value) {
                  std::vector<double> epochs;
                  for (const std::string& word : comma_separated(value))
                    epochs.push_back(parse_real(name, word, "numbers >= 0, separated by commas",
                                                std::numeric_limits<double>::infinity()));
                  return epochs;
                });
}

FlagRow rate_row(FlagText text, Member<double> member, bool is_base) {
  FlagRow row = real(std::move(text), member);
  row.read = [=, read = row.read](RunConfig& config, const std::string& value) {
    read(config, value);
    if (!is_base) config.learning.base_minibatch = 0;
  };
  row.print = [=, print = row.print](const RunConfig& config) {
    return (config.learning.base_minibatch > 0) == is_base ? print(config) : "";
  };
  return row;
}

FlagRow roles_row(FlagText text, Member<std::vector<Role>> member) {
  std::vector<std::string> names;
  for (const Role role : kRoles) names.emplace_back(name(role));
  text.doc += fmt::format(", separated by commas: {}; or none", fmt::join(names, ", "));
  return row_of(
      std::move(text), member,
      [=](const std::string& flag, const std::string& value) {
        std::vector<Role> roles;
        for (const std::string& word : comma_separated(value)) {
          if (value == "none") break;
          check_choice(flag, word, names);
          roles.push_back(kRoles[std::find(names.begin(), names.end(), word) - names.begin()]);
        }
        return roles;
      },
      [](const std::vector<Role>& roles) {
        std::vector<std::string_view> words;
        for (const Role role : roles) words.push_back(name(role));
        return words.empty() ? "none" : value_text(words);
      });
}

std::function<bool(const RunConfig&)> is_scheduled(std::vector<std::string> shapes) {
  return [shapes = std::move(shapes)](const RunConfig& config) {
    return std::find(shapes.begin(), shapes.end(), config.learning.schedule) != shapes.end();
  };
}

std::function<bool(const RunConfig&)> reads_end_rate(const Recipe& recipe) {
  return [shapes = offered_shapes(recipe.schedules)](const RunConfig& config) {
    return std::any_of(shapes.begin(), shapes.end(), [&](const ScheduleShape& shape) {
      return shape.name == config.learning.schedule && shape.has_end_rate;
    });
  };
}

bool asks_for_warmup(const RunConfig& config) { return config.learning.warmup != "none"; }

bool has_beta2(const RunConfig& config) { return find_hyper(config.learning, kBeta2Name).has_value(); }

bool scales_from_a_base(const RunConfig& config) {
  return config.learning.base_minibatch > 0 || config.learning.scaling == "none";
}

void check_learning_flags(const RunConfig& config, const std::function<bool(const std::string& flag)>& given) {
  constexpr const char* kMeaning =
      "--lr X is the learning rate after the warmup as it is; --base-lr X is that of --base-minibatch B samples, from "
      "which --scaling derives it";
  for (const char* base : {"--base-lr", "--base-minibatch"})
    if (given("--lr") && given(base) && (config.learning.base_minibatch > 0 || base == std::string_view("--base-lr")))
      throw UsageError(fmt::format("--lr, {}: expected one of them, got both\n  hint:     {}", base, kMeaning));
  if (given("--base-lr") && config.learning.base_minibatch == 0)
    throw UsageError(
        fmt::format("--base-lr: expected --base-minibatch B beside it, got none\n  hint:     {}", kMeaning));
  if (config.learning.half_life == 0) return;
  if (given("--beta2"))
    throw UsageError(
        "--half-life, --beta2: expected one of them, got both\n  hint:     --half-life K sets beta2 to 2^(-minibatch / "
        "K)");
  if (!config.batch.growths.empty())
    throw UsageError(
        "--half-life, --minibatch-schedule: expected one of them, got both\n  hint:     beta2 follows from one "
        "minibatch");
}

}  // namespace kb
