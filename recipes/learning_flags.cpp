// The flags of optimizer, hyper-parameters and learning rate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/flag_rows.h"
#include "recipes/learning.h"

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
  const std::vector<std::string> names = names_of(offered_optimizers(recipe));
  return {{kName, "NAME", fmt::format("update rule: {}", fmt::join(names, ", "))},
          [=, &recipe](Flags& flags, const std::string& value) {
            check_choice(kName, value, names);
            if (value != flags.optimizer) use_optimizer(recipe, flags, value);
          },
          [](const Flags& flags) { return flags.optimizer; }};
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
      {flag, "X", std::string(row.doc) + (all_read_it ? "" : fmt::format("; of {}", readers))},
      [=](Flags& flags, const std::string& value) {
        auto at = find_hyper(flags.hyper, row.name);
        if (at == flags.hyper.end())
          throw UsageError(fmt::format("{}: {} does not read it; those that do: {}", flag, flags.optimizer, readers));
        at->value = parse_real(flag, value, expected, row.below);
      },
      [=](const Flags& flags) {
        auto at = find_hyper(flags.hyper, row.name);
        return at == flags.hyper.end() ? "" : fmt::format("{}", at->value);
      }};
}

// One flag for every name, whichever optimizers read it.
std::vector<FlagRow> hyper_parameters(const Recipe& recipe) {
  std::vector<FlagRow> rows;
  std::vector<std::string_view> seen;
  const std::vector<Optimizer> offered = offered_optimizers(recipe);
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
          [](Flags& flags, const std::string& value) {
            flags.milestones.clear();
            for (const std::string& word : comma_separated(value))
              flags.milestones.push_back(parse_real(kName, word, "numbers >= 0, separated by commas",
                                                    std::numeric_limits<double>::infinity()));
          },
          [](const Flags& flags) { return fmt::format("{}", fmt::join(flags.milestones, ",")); }};
}

}  // namespace

std::vector<FlagRow> learning_flags(const Recipe& recipe) {
  const std::string warmup_doc =
      fmt::format("epochs of the warmup; it starts at {}, with --base-minibatch at --lr", recipe.defaults.warmup_start);
  // Rows are read in this order, not in the command line's: the optimizer sets defaults that later ones replace.
  std::vector<FlagRow> rows = {
      optimizer(recipe),
      real({"--lr", "X", "learning rate after the warmup; with --base-minibatch that for B samples"}, &Flags::lr),
      whole({"--base-minibatch", "B", "scale --lr from B samples to --minibatch; 0: take it as it is"},
            &Flags::base_minibatch, true),
      choice({"--scaling", "RULE", "of the learning rate from --base-minibatch"}, &Flags::scaling,
             names_of(scaling_rules())),
      choice({"--schedule", "NAME", "learning rate after the warmup"}, &Flags::schedule, names_of(schedule_shapes())),
      milestones(),
      real({"--power", "P", "of --schedule polynomial"}, &Flags::power),
      choice({"--warmup", "NAME", "how the learning rate begins"}, &Flags::warmup, names_of(warmup_kinds())),
      real({"--warmup-epochs", "E", warmup_doc}, &Flags::warmup_epochs),
  };
  const std::vector<FlagRow> hyper = hyper_parameters(recipe);
  rows.insert(rows.end(), hyper.begin(), hyper.end());
  return rows;
}

}  // namespace kb
