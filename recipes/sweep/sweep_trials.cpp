#include "recipes/sweep/sweep_trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/error.h"
#include "optim/scaling.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/train/declared_names.h"
#include "recipes/trials/study_process.h"
#include "runtime/commit.h"

namespace kb {
namespace {

using Words = std::vector<std::string>;

constexpr const char *kRateFlag = "lr", *kMinibatchFlag = "--minibatch", *kSeedFlag = "--seed", *kQuietFlag = "--quiet",
                     *kHeldOut = "--validation", *kConstantSchedule = "constant";
constexpr double kHeldOutShare = 0.1;
constexpr int64_t kMostHeldOut = 10'000;

bool has_word(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Removes the flag and its value.
void drop_flag(Words& words, const std::string& flag) {
  if (const auto at = std::find(words.begin(), words.end(), flag); at != words.end()) words.erase(at, at + 2);
}

Words words_with(Words words, int64_t minibatch, const std::map<std::string, std::string>& values) {
  words.insert(words.end(), {kMinibatchFlag, fmt::to_string(minibatch)});
  for (const auto& [flag, value] : values) words.insert(words.end(), {"--" + flag, value});
  return words;
}

// Throws UsageError for flags that are meant for one run: those of a call, or about how a run begins and ends.
void refuse_other_flags(const Recipe& recipe, const Words& words) {
  constexpr const char* kOfOneRun[] = {"--branch", "--stop-at", "--minibatch-schedule"};
  for (const std::string& word : words) {
    if (!word.starts_with("--") || word == kQuietFlag) continue;
    const bool is_named = std::find(std::begin(kOfOneRun), std::end(kOfOneRun), word) != std::end(kOfOneRun);
    if (is_named || find_flag(recipe, word).effect == FlagEffect::call)
      throw UsageError(fmt::format("{}: expected no such flag beside a sweep{}", word,
                                   word == "--out" ? ", whose folder is --store" : ""));
  }
}

void check_words(const Recipe& recipe, const Words& words, const std::vector<SweepRange>& ranges) {
  if (has_word(words, kMinibatchFlag))
    throw UsageError("--minibatch: expected --grid alone, which names the minibatches, got both");
  for (const SweepRange& range : ranges)
    if (has_word(words, "--" + range.range.flag))
      throw UsageError(fmt::format("--{0}: expected --search {0}=... alone, got both", range.range.flag));
  const RunConfig config = *parse_flags(recipe, recipe.name, words);
  refuse_flags_of_one("sweep", "the same command and --store", config);
  refuse_other_flags(recipe, words);
  if (!config.length.target)
    throw UsageError(
        "--target: expected the figure that every trial is to reach, such as --target error=0.03, got none");
  if (config.data.path == kNoise)
    throw UsageError(
        "--data synthetic: expected a data set, by whose held-out samples the trials of a sweep are judged, got noise\n"
        "  hint:     --data DIR, the folder of the data set");
  if (const std::optional<Task> task = task_before_data(recipe, config)) check_target(config, *task);
}

// Parses the ranges of --search. Throws UsageError for a flag whose value changes no result, or that is given twice.
std::vector<SweepRange> ranges_of(const Recipe& recipe, const Words& texts) {
  std::vector<SweepRange> ranges;
  for (const std::string& text : texts) {
    const SearchRange range = parse_search(text);
    const FlagRow row = find_flag(recipe, "--" + range.flag);
    const bool is_own = row.text.name == kMinibatchFlag || row.text.name == kSeedFlag;  // set by the sweep itself
    if (row.effect != FlagEffect::computed || row.text.value.empty() || is_own)
      throw UsageError(
          fmt::format("--search: expected a flag with a value that changes what is computed, got --{}", range.flag));
    const bool is_twice = std::any_of(ranges.begin(), ranges.end(),
                                      [&](const SweepRange& other) { return other.range.flag == range.flag; });
    if (is_twice) throw UsageError(fmt::format("--search: expected one range of --{}, got two", range.flag));
    ranges.push_back({range});
  }
  return ranges;
}

// Returns the value that a relative range of the first minibatch lies around: the flag's value without the search.
double centre_of(const Recipe& recipe, const RunConfig& config, const std::string& flag) {
  const bool is_rate = flag == kRateFlag;
  const double rate = ReferenceRate{config.learning.lr, config.learning.base_minibatch, config.learning.scaling}.at(
      config.batch.minibatch);
  const std::string value = is_rate ? fmt::format("{}", rate) : find_flag(recipe, "--" + flag).print(config);
  const std::string expected = fmt::format("a value above 0 of --{}, which the range is relative to", flag);
  const double centre = parse_finite("--search", value, expected);
  if (centre <= 0) refuse_value("--search", expected, value);
  return centre;
}

// Returns the number of samples of the training part on this machine, including those held out: a folder may hold fewer
// than the data set of its name has. Throws DataError if they cannot be read.
int64_t samples_there(const Recipe& recipe, const RunConfig& config) {
  const Task task = load_task(recipe, with_absolute_paths(config)).task;
  return task.train_count + task.valid_count;
}

// Returns samples_there(); nothing if the set's name has to tell the number: the set is drawn, or it is not on this
// machine.
std::optional<int64_t> samples_if_there(const Recipe& recipe, const RunConfig& config) {
  constexpr const char* kDrawn[] = {"glyphs", "glyphs-hour", kSynthetic};
  if (!recipe.task && std::find(std::begin(kDrawn), std::end(kDrawn), config.data.dataset) != std::end(kDrawn))
    return std::nullopt;
  try {
    return samples_there(recipe, config);
  } catch (const DataError&) {
    return std::nullopt;
  }
}

// Adds flags that a sweep needs for every trial and that the words lack. Returns samples_there() if it is known.
std::optional<int64_t> add_defaults(const Recipe& recipe, const RunConfig& config, Words& words) {
  // Two checkpoints are kept since one may be damaged: the trial then goes on from the one before it.
  for (const auto& [flag, value] : {std::pair{"--eval-every", "geo:1.1"}, {"--keep", "2"}})
    if (!has_word(words, flag)) words.insert(words.end(), {flag, value});
  // The plan and the study read the schedule from its flag, and a schedule-free optimizer chooses it without one.
  if (config.learning.schedule == kConstantSchedule) set_word(words, "--schedule", kConstantSchedule);
  const RunConfig absolute = with_absolute_paths(config);
  if (!absolute.data.path.empty()) set_word(words, "--data", absolute.data.path);
  if (!absolute.resume.init.empty()) set_word(words, "--init", absolute.resume.init);
  if (has_word(words, kHeldOut)) return samples_if_there(recipe, config);
  const int64_t count = samples_there(recipe, config);
  const auto held_out = std::min(kMostHeldOut, static_cast<int64_t>(kHeldOutShare * static_cast<double>(count)));
  if (held_out == 0)
    throw UsageError(
        "--validation: expected how many training samples to hold out, by which the trials of a sweep are judged, got "
        "none");
  words.insert(words.end(), {kHeldOut, fmt::to_string(held_out)});
  return count;
}

// Checks values in the ranges of a sweep whose definition is otherwise complete.
class RangeCheck {
 public:
  // `samples`: number of samples of the training part, including those held out; nothing: the set's name tells it.
  RangeCheck(const Recipe& recipe, const SweepDefinition& definition, std::optional<int64_t> samples)
      : recipe_(recipe), definition_(definition), samples_(samples) {}

  // Throws UsageError if the recipe does not accept the values at these places in the ranges, and Error if no run can
  // be planned with them.
  void take(int64_t minibatch, const std::vector<double>& point) const {
    const PlannedTrial trial{.name = "",
                             .minibatch = minibatch,
                             .seed = definition_.first_seed,
                             .values = values_at(definition_, definition_.centre, point)};
    for (const SweepRange& own : definition_.ranges)
      if (trial.values.at(own.range.flag).empty()) refuse_value("--search", "a value >= 0", own.range.text());
    parse_flags(recipe_, recipe_.name, words_with(definition_.words, minibatch, trial.values));
    check_plan(config_of_trial(recipe_, definition_, trial));
  }

  // Does the same for the place `u` of one range, with the others at their middle.
  void take_place(size_t range, double u) const {
    std::vector<double> point = middle();
    point[range] = u;
    take(definition_.minibatches.front(), point);
  }

  bool takes_place(size_t range, double u) const {
    try {
      take_place(range, u);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  }

  // Checks every trial of the first minibatch. Later minibatches lie around values that are not known yet.
  void take_points() const {
    for (const std::vector<double>& point : points_of(definition_)) try {
        take(definition_.minibatches.front(), point);
      } catch (const UsageError& error) {
        throw UsageError(fmt::format(
            "{}\n  hint:     --search tries it, at a point in its range; a list names those that there are: "
            "--search FLAG=A,B,C",
            error.what()));
      }
  }

  // Throws Error if no run can be planned with this configuration, as far as that is known.
  void check_plan(const RunConfig& config) const {
    if (samples_)
      make_plan(config, std::max<int64_t>(0, *samples_ - config.judging.validation));
    else if (const std::optional<Task> task = task_before_data(recipe_, config))
      make_plan(config, task->train_count);
    else
      batch_plan(config);
  }

  std::vector<double> middle() const { return std::vector<double>(definition_.ranges.size(), 0.5); }

 private:
  const Recipe& recipe_;
  const SweepDefinition& definition_;
  const std::optional<int64_t> samples_;
};

void check_ranges(const Recipe& recipe, SweepDefinition& definition, std::optional<int64_t> samples) {
  const RangeCheck check(recipe, definition, samples);
  for (const int64_t minibatch : definition.minibatches) check.take(minibatch, check.middle());
  for (size_t i = 0; i < definition.ranges.size(); ++i) {
    SweepRange& range = definition.ranges[i];
    for (const double u : {0.0, 1.0}) check.take_place(i, u);
    if (range.range.scale == Scale::list) continue;
    const double widest = static_cast<double>(definition.constants.widenings) / 3;
    range.widens_below = check.takes_place(i, -widest);
    range.widens_above = check.takes_place(i, 1 + widest);
  }
  check.take_points();
}

}  // namespace

SweepDefinition define_sweep(const Recipe& recipe, const SweepFlags& flags, const std::vector<std::string>& words,
                             int shards) {
  SweepDefinition definition;
  definition.recipe = recipe.name;
  definition.words = words;
  definition.minibatches = parse_grid(flags.grid);
  definition.ranges = ranges_of(recipe, flags.search);
  check_words(recipe, words, definition.ranges);
  const RunConfig first = *parse_flags(recipe, recipe.name, words_with(words, definition.minibatches.front(), {}));
  for (const SweepRange& range : definition.ranges)
    if (range.range.is_relative) definition.centre[range.range.flag] = centre_of(recipe, first, range.range.flag);
  const bool searches_rate = std::any_of(definition.ranges.begin(), definition.ranges.end(),
                                         [](const SweepRange& range) { return range.range.flag == kRateFlag; });
  if (searches_rate && reference_rate(first.learning).has_gains())
    throw UsageError(
        "--search lr: it gives the rate of a step as it is, which --scaling adascale derives from --base-lr\n"
        "  hint:     --search base-lr=...");
  if (searches_rate)  // the searched value is the rate of a step itself
    for (const char* flag : {"--base-lr", "--base-minibatch", "--scaling"}) drop_flag(definition.words, flag);
  drop_flag(definition.words, kSeedFlag);
  std::erase(definition.words, kQuietFlag);
  const std::optional<int64_t> samples = add_defaults(recipe, first, definition.words);
  definition.points = flags.points == "even" ? PointKind::even : PointKind::halton;
  definition.point_seed = flags.point_seed;
  definition.trials = definition.ranges.empty() ? 1 : flags.trials;
  definition.first_seed = first.arithmetic.seed;
  definition.seeds = flags.seeds;
  definition.cap = flags.cap;
  definition.constants = flags.constants;
  definition.shards = shards;
  definition.commit = source_commit();
  definition.compiler = build_compiler();
  check_bounds(definition, "");
  check_ranges(recipe, definition, samples);
  return definition;
}

RunConfig config_of_trial(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial) {
  RunConfig config = with_plan(recorded_config(recipe, words_with(definition.words, trial.minibatch, trial.values)));
  config.arithmetic.seed = trial.seed;
  if (trial.most_steps == 0) return config;
  // A constant rate does not depend on the length of the training: the cap itself becomes the length.
  if (config.learning.schedule == kConstantSchedule)
    config.length.steps = trial.most_steps;
  else
    config.length.stop_at.duration = Period{static_cast<double>(trial.most_steps), Period::Unit::steps};
  return config;
}

Trial trial_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial) {
  return {trial.name, flag_words(recipe, config_of_trial(recipe, definition, trial))};
}

std::string refusal_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial) {
  try {
    trial_of(recipe, definition, trial);
    return "";
  } catch (const UsageError& error) {
    // The calls below throw again if the error does not come from the values: if other flags are wrong, or this build
    // does not know a searched flag.
    PlannedTrial plain = trial;
    plain.values.clear();
    for (const SweepRange& range : definition.ranges) find_flag(recipe, "--" + range.range.flag);
    config_of_trial(recipe, definition, plain);
    return error.what();
  }
}

}  // namespace kb
