#include "recipes/sweep/sweep_definition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "recipes/config/learning.h"
#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/study_folder.h"
#include "runtime/commit.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr Choice<PointKind> kPointKinds[] = {{"halton", PointKind::halton}, {"even", PointKind::even}};

SweepRange read_range(const JsonValue& json) {
  SweepRange range;
  range.range = parse_search(json.get<std::string>("range"));
  range.widens_below = json.get<bool>("widens_below");
  range.widens_above = json.get<bool>("widens_above");
  return range;
}

// A constant of a sweep: the flag that sets it, its name in sweep.json, its member and its bounds.
struct ConstantRow {
  const char *flag, *name;
  double SweepConstants::*member;
  double least, most;
};
constexpr ConstantRow kConstants[] = {{"--hopeless", "hopeless", &SweepConstants::hopeless, 1, 1e9},
                                      {"--least-cap", "least_cap", &SweepConstants::least_cap, 1, 1e9},
                                      {"--seed-cap", "seed_cap", &SweepConstants::seed_cap, 0, 1e9},
                                      {"--edge", "edge", &SweepConstants::edge, 0, 0.5},
                                      {"--draws", "draws", &SweepConstants::draws, 1, 100}};
constexpr const char *kWideningsFlag = "--widenings", *kWideningsName = "widenings";

SweepConstants read_constants(const JsonValue& json) {
  SweepConstants constants;
  for (const ConstantRow& row : kConstants) constants.*row.member = json.get<double>(row.name);
  constants.widenings = json.get<int64_t>(kWideningsName);
  return constants;
}

Json constants_json(const SweepConstants& constants) {
  Json json;
  for (const ConstantRow& row : kConstants) json[row.name] = constants.*row.member;
  json[kWideningsName] = constants.widenings;
  return json;
}

[[noreturn]] void refuse_sweep(const std::string& store, const std::string& part, const std::string& there,
                               const std::string& asked) {
  throw Error(fmt::format(
      "--store: {} holds another sweep: {} differ{}\n  expected: {}\n  got:      {}\n  hint:     the same "
      "command goes on with it, also with a larger --grid, --trials, --seeds or --budget; for another sweep "
      "name another folder",
      store, part, part.ends_with('s') ? "" : "s", there, asked));
}

constexpr double kDigits = 1e-6;  // relative difference of two texts of one number

bool are_equal(double a, double b) { return std::abs(a - b) <= kDigits * std::abs(b); }

bool are_one_target(const std::string& a, const std::string& b) {
  try {
    const TargetFigure one = parse_target("--target", a), other = parse_target("--target", b);
    return one.metric == other.metric && are_equal(one.value, other.value);
  } catch (const UsageError&) {
    return a == b;
  }
}

template <class Value>
std::string expected_got(const char* what, const Value& expected, const Value& got) {
  return fmt::format("expected a run of {0} {1}, got one of {0} {2}", what, expected, got);
}

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.6g}", *rate) : "unknown"; }
std::string target_text(const std::string& target) { return target.empty() ? "none" : target; }

}  // namespace

void check_bounds(const SweepDefinition& definition, const std::string& what) {
  const auto check = [&](const char* number, int64_t got, int64_t least, int64_t most) {
    if (got < least || got > most)
      throw UsageError(
          fmt::format("{}{}: expected a whole number in [{}, {}], got {}", what, number, least, most, got));
  };
  check("--trials", definition.trials, 1, kMostTrials);
  check("--seeds", definition.seeds, 1, kMostSeeds);
  check("--seed", definition.first_seed, 0, (int64_t{1} << 32) - definition.seeds);
  check("--point-seed", definition.point_seed, 0, kWholeBelow - 1);
  check("--shards", definition.shards, 0, kWholeBelow - 1);
  check(kWideningsFlag, definition.constants.widenings, 0, kMostWidenings);
  check("--grid, the number of minibatches", std::ssize(definition.minibatches), 1, kMostMinibatches);
  check("--search, the number of flags", std::ssize(definition.ranges), 0, kMostSearched);
  for (size_t i = 0; i < definition.minibatches.size(); ++i)
    check("--grid", definition.minibatches[i], i == 0 ? 1 : definition.minibatches[i - 1] + 1, kWholeBelow - 1);
  if (!(definition.cap > 0 && std::isfinite(definition.cap)))
    throw UsageError(fmt::format("{}--cap: expected a number above 0, got {}", what, definition.cap));
  for (const ConstantRow& row : kConstants)
    if (const double got = definition.constants.*row.member; !(got >= row.least && got <= row.most))
      throw UsageError(
          fmt::format("{}{}: expected a number in [{}, {}], got {}", what, row.flag, row.least, row.most, got));
}

std::string definition_json(const SweepDefinition& definition) {
  Json json;
  json["recipe"] = definition.recipe;
  json["arguments"] = definition.words;
  json["minibatches"] = definition.minibatches;
  json["search"] = Json::array();
  for (const SweepRange& range : definition.ranges)
    json["search"].push_back(
        {{"range", range.range.text()}, {"widens_below", range.widens_below}, {"widens_above", range.widens_above}});
  json["centre"] = definition.centre;
  json["points"] = word_of(kPointKinds, definition.points);
  json["point_seed"] = definition.point_seed;
  json["trials"] = definition.trials;
  json["first_seed"] = definition.first_seed;
  json["seeds"] = definition.seeds;
  json["cap"] = definition.cap;
  json["constants"] = constants_json(definition.constants);
  json["shards"] = definition.shards;
  json["commit"] = definition.commit;
  json["compiler"] = definition.compiler;
  return json.dump(2) + "\n";
}

SweepDefinition parse_definition(const std::string& text, const std::string& what) {
  const JsonValue json = parse_json(text, what);
  SweepDefinition definition;
  definition.recipe = json.get<std::string>("recipe");
  definition.words = json.at("arguments").list<std::string>();
  definition.minibatches = json.at("minibatches").list<int64_t>();
  for (const JsonValue& range : json.at("search").items()) definition.ranges.push_back(read_range(range));
  for (const auto& [flag, value] : json.at("centre").members()) definition.centre[flag] = value.as<double>();
  definition.points = choice_of(what + ": points", kPointKinds, json.get<std::string>("points"));
  definition.point_seed = json.get<int64_t>("point_seed");
  definition.trials = json.get<int64_t>("trials");
  definition.first_seed = json.get<int64_t>("first_seed");
  definition.seeds = json.get<int64_t>("seeds");
  definition.cap = json.get<double>("cap");
  if (json.has("constants")) definition.constants = read_constants(json.at("constants"));
  definition.shards = static_cast<int>(json.get<int64_t>("shards"));
  definition.commit = json.get<std::string>("commit", "");
  definition.compiler = json.get<std::string>("compiler", "");
  check_bounds(definition, what + ": ");
  return definition;
}

std::vector<std::pair<std::string, std::string>> definition_parts(const SweepDefinition& definition) {
  std::vector<std::string> ranges;
  for (const SweepRange& range : definition.ranges) ranges.push_back("--search " + range.range.text());
  std::vector<std::pair<std::string, std::string>> parts = {
      {"the recipe", definition.recipe},
      {"the flags of its trials", fmt::format("{}", fmt::join(lasting_words(definition.words), " "))},
      {"what is searched", fmt::format("{}", fmt::join(ranges, " "))},
      {"--points", word_of(kPointKinds, definition.points)},
      {"--point-seed", fmt::to_string(definition.point_seed)},
      {"--cap", fmt::format("{}", definition.cap)},
      {"--seed", fmt::to_string(definition.first_seed)},
      {kWideningsFlag, fmt::to_string(definition.constants.widenings)}};
  for (const ConstantRow& row : kConstants)
    parts.emplace_back(row.flag, fmt::format("{}", definition.constants.*row.member));
  return parts;
}

std::string centre_text(const SweepDefinition& definition) {
  std::vector<std::string> texts;
  for (const auto& [flag, centre] : definition.centre) texts.push_back(fmt::format("{} {:.4g}", flag, centre));
  if (texts.empty()) return "";
  return fmt::format("{} at minibatch {}", fmt::join(texts, ", "), definition.minibatches.front());
}

std::string value_behind(const SweepDefinition& definition, std::string_view flag) {
  const auto at = std::find(definition.words.begin(), definition.words.end(), flag);
  return at == definition.words.end() || at + 1 == definition.words.end() ? "" : *(at + 1);
}

TargetFigure target_of(const SweepDefinition& definition) {
  constexpr const char* kTarget = "--target";
  return parse_target(kTarget, value_behind(definition, kTarget));
}

bool has_constant_rate(const SweepDefinition& definition) {
  return value_behind(definition, "--schedule") == "constant";
}

std::string beta2_note(const SweepDefinition& definition) {
  std::string name = value_behind(definition, "--optimizer");
  if (name.empty() && is_listed(definition.recipe)) name = find_recipe(definition.recipe).defaults.optimizer;
  const auto reads_beta2 = [&](const Optimizer& row) { return row.name == name && row.reads(kBeta2Name); };
  const bool has_beta2 = std::any_of(optimizers().begin(), optimizers().end(), reads_beta2);
  const std::string half_life = value_behind(definition, "--half-life");
  if (!has_beta2 || definition.minibatches.size() < 2 || (!half_life.empty() && half_life != "0")) return "";
  return fmt::format(
      "--optimizer {} has one beta2 at every minibatch, and averages squared gradients over more samples at a larger "
      "one; --half-life K keeps the samples (Marek et al. 2025)",
      name);
}

std::optional<BuildDifference> build_difference(const SweepDefinition& definition) {
  const BuildDifference parts[] = {{"commit", definition.commit, source_commit()},
                                   {"compiler", definition.compiler, build_compiler()}};
  for (const BuildDifference& part : parts)
    if (!part.there.empty() && part.there != part.own) return part;
  return std::nullopt;
}

void check_build(const SweepDefinition& definition, const std::string& store) {
  if (const std::optional<BuildDifference> other = build_difference(definition))
    throw Error(
        fmt::format("--store: {} is the sweep of another build: the {} of this program differs\n  expected: {}\n  "
                    "got:      {}\n  hint:     build that one for it, or begin a sweep in another folder",
                    store, other->part, other->there, other->own));
}

SweepDefinition grown_definition(const SweepDefinition& there, SweepDefinition asked, const std::string& store) {
  check_build(there, store);
  const auto old_parts = definition_parts(there), new_parts = definition_parts(asked);
  for (size_t i = 0; i < old_parts.size(); ++i)
    if (old_parts[i].second != new_parts[i].second)
      refuse_sweep(store, old_parts[i].first, old_parts[i].second, new_parts[i].second);
  // A grid that grew by a smaller first minibatch has another centre, which belongs to that minibatch.
  if (asked.minibatches.front() == there.minibatches.front() && asked.centre != there.centre)
    refuse_sweep(store, "the centre of the search", centre_text(there), centre_text(asked));
  const bool has_all = std::includes(asked.minibatches.begin(), asked.minibatches.end(), there.minibatches.begin(),
                                     there.minibatches.end());
  if (!has_all)
    refuse_sweep(store, "the minibatches", fmt::format("all of {}", fmt::join(there.minibatches, ",")),
                 fmt::format("{}", fmt::join(asked.minibatches, ",")));
  const bool may_grow = there.points == PointKind::halton;  // another number of even points has other places
  if (asked.trials < there.trials || (asked.trials > there.trials && !may_grow))
    refuse_sweep(store, "--trials", fmt::format("{}{}", there.trials, may_grow ? " or more" : ""),
                 fmt::to_string(asked.trials));
  if (asked.seeds < there.seeds)
    refuse_sweep(store, "--seeds", fmt::format("{} or more", there.seeds), fmt::to_string(asked.seeds));
  asked.shards = there.shards;
  return asked;
}

TrialRun trial_run(const RunReport& report) { return {report.minibatch, report.seed, report.rate, report.target}; }

std::string difference_text(const TrialRun& expected, const TrialRun& got) {
  if (got.minibatch != expected.minibatch) return expected_got("minibatch", expected.minibatch, got.minibatch);
  if (got.seed != expected.seed) return expected_got("seed", expected.seed, got.seed);
  if (expected.target && got.target && !are_one_target(*got.target, *expected.target))
    return expected_got("--target", target_text(*expected.target), target_text(*got.target));
  if (expected.rate && !(got.rate && are_equal(*got.rate, *expected.rate)))
    return expected_got("--lr", rate_text(expected.rate), rate_text(got.rate));
  return "";
}

}  // namespace kb
