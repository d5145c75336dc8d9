#include "recipes/answer/performance_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "recipes/answer/csv.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/trials/wrapped.h"
#include "runtime/json.h"

namespace kb {
namespace {

// A minibatch and the value of a target.
using SolvedPair = std::pair<int64_t, double>;

std::map<SolvedPair, double> steps_by_pair(const TargetsAnswer& sweep) {
  std::map<SolvedPair, double> steps;
  for (const TargetAnswer& one : sweep.targets)
    if (one.answer)
      for (const BestResult& best : one.answer->best) steps[{best.minibatch, one.target.value}] = best.steps;
  return steps;
}

// Returns the pairs that the sweep trained. Its runs end at its own target, so that a harder one counts where it is
// solved.
std::set<SolvedPair> trained_pairs(const TargetsAnswer& sweep) {
  std::set<SolvedPair> pairs;
  for (const auto& [pair, steps] : steps_by_pair(sweep)) pairs.insert(pair);
  for (const TargetAnswer& one : sweep.targets)
    if (!sweep.own.is_reached_by(one.target.value, sweep.higher_is_better))
      for (const Measurement& run : one.runs) pairs.emplace(run.minibatch, one.target.value);
  return pairs;
}

// Returns the fewest steps of each pair that some sweep solves and all trained. Adds the sweeps that did not train
// others to `untrained`.
std::map<SolvedPair, double> fewest_steps(std::span<const TargetsAnswer> sweeps, std::vector<std::string>& untrained) {
  std::map<SolvedPair, double> fewest;
  for (const TargetsAnswer& sweep : sweeps)
    for (const auto& [pair, steps] : steps_by_pair(sweep)) {
      double& least = fewest.try_emplace(pair, steps).first->second;
      least = std::min(least, steps);
    }
  std::set<SolvedPair> left_out;
  for (const TargetsAnswer& sweep : sweeps) {
    const std::set<SolvedPair> trained = trained_pairs(sweep);
    std::map<double, std::vector<int64_t>> minibatches;  // by the value of the target
    for (const auto& [pair, steps] : fewest)
      if (!trained.contains(pair)) left_out.insert(pair), minibatches[pair.second].push_back(pair.first);
    for (const auto& [value, all] : minibatches)
      untrained.push_back(fmt::format("{}: minibatch {} to {}", sweep.name, fmt::join(all, ", "),
                                      TargetFigure{sweep.own.metric, value}.text()));
  }
  std::erase_if(fewest, [&](const auto& solved) { return left_out.contains(solved.first); });
  return fewest;
}

void check_alike(std::span<const TargetsAnswer> sweeps) {
  const TargetsAnswer& first = sweeps.front();
  for (const TargetsAnswer& sweep : sweeps) {
    check_same("figure", {first.name, first.own.metric}, {sweep.name, sweep.own.metric});
    check_same("data", {first.name, value_of(first.head, "data")}, {sweep.name, value_of(sweep.head, "data")});
  }
}

}  // namespace

PerformanceProfile performance_profile(std::span<const TargetsAnswer> sweeps) {
  check_alike(sweeps);
  PerformanceProfile profile;
  const std::map<SolvedPair, double> fewest = fewest_steps(sweeps, profile.untrained);
  profile.pairs = fewest.size();
  for (const TargetsAnswer& sweep : sweeps) {
    std::map<SolvedPair, double> own = steps_by_pair(sweep);
    std::erase_if(own, [&](const auto& solved) { return !fewest.contains(solved.first); });
    ProfileRow row{sweep.name, own.size()};
    for (const double factor : kProfileFactors) {
      const auto within = std::count_if(own.begin(), own.end(), [&](const auto& solved) {
        return solved.second <= factor * fewest.at(solved.first);
      });
      row.shares.push_back(fewest.empty() ? 0 : static_cast<double>(within) / static_cast<double>(fewest.size()));
    }
    profile.rows.push_back(std::move(row));
  }
  return profile;
}

std::string profile_text(const PerformanceProfile& profile) {
  std::string text = fmt::format("{:<32}  {:>7}", "within this factor of the fewest", "solved");
  for (const double factor : kProfileFactors) text += fmt::format("  {:>6}", factor);
  text += "\n";
  for (const ProfileRow& row : profile.rows) {
    text += fmt::format("{:<32}  {:>7}", row.name, row.solved);
    for (const double share : row.shares) text += fmt::format("  {:>4.0f} %", 100 * share);
    text += "\n";
  }
  text += wrapped("", fmt::format("Shares are of the {} pairs of a minibatch and a target that all sweeps trained and "
                                  "some sweep solves; a sweep's steps are those at its best rate of the pair.",
                                  profile.pairs));
  for (const std::string& one : profile.untrained)
    text += wrapped("", fmt::format("Left out, since a sweep did not train it: {}.", one));
  return text;
}

std::string profile_csv(const PerformanceProfile& profile) {
  std::string csv = "name,solved,pairs";
  for (const double factor : kProfileFactors) csv += fmt::format(",within_{}", factor);
  csv += "\n";
  for (const ProfileRow& row : profile.rows) {
    std::vector<CsvField> fields = {row.name, row.solved, profile.pairs};
    fields.insert(fields.end(), row.shares.begin(), row.shares.end());
    csv += csv_line(fields);
  }
  return csv;
}

std::string profile_json(const PerformanceProfile& profile, const std::string& command) {
  Json json = {
      {"command", command}, {"pairs", profile.pairs}, {"untrained", profile.untrained}, {"sweeps", Json::array()}};
  json["factors"] = std::vector<double>(std::begin(kProfileFactors), std::end(kProfileFactors));
  for (const ProfileRow& row : profile.rows)
    json["sweeps"].push_back({{"name", row.name}, {"solved", row.solved}, {"shares", row.shares}});
  return json.dump(2) + "\n";
}

}  // namespace kb
