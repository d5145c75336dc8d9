#include "recipes/answer/policy_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/answer/best_rates.h"

namespace kb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the point of a minibatch that missed the target: at the rate with the most runs, the first of equals.
PolicyPoint missed_point(const MinibatchResults& at) {
  const auto most = std::max_element(at.rates.begin(), at.rates.end(),
                                     [](const RateResult& a, const RateResult& b) { return a.runs < b.runs; });
  return {at.minibatch, &*most, kInfinity};
}

}  // namespace

PolicyPoints::PolicyPoints(const std::vector<NamedStudy>& studies) {
  for (const NamedStudy& study : studies) {
    for (const BestResult& one : study.answer.best) best_.push_back({one.minibatch, &one.best, one.steps});
    for (const MinibatchResults& at : study.answer.all) {
      const std::vector<double> steps = compared_steps(at, study.answer.measured.deviation_at(at.minibatch));
      for (size_t i = 0; i < at.rates.size(); ++i) tried_.push_back({at.minibatch, &at.rates[i], steps[i]});
      const auto is_here = [&](const MissedResult& missed) { return missed.minibatch == at.minibatch; };
      if (std::any_of(study.answer.missed.begin(), study.answer.missed.end(), is_here))
        best_.push_back(missed_point(at));
    }
  }
}

const PolicyPoint* PolicyPoints::best(const PolicyRole& role, int64_t minibatch) const {
  const PolicyPoint* found = nullptr;
  for (const PolicyPoint& one : best_)
    if (one.minibatch == minibatch && role.is(one.policy()) && (!found || one.steps < found->steps)) found = &one;
  return found;
}

std::set<int64_t> PolicyPoints::minibatches(const PolicyRole& role) const {
  std::set<int64_t> found;
  for (const PolicyPoint& one : best_)
    if (role.is(one.policy())) found.insert(one.minibatch);
  return found;
}

std::optional<int64_t> PolicyPoints::largest_common(const std::vector<PolicyRole>& roles) const {
  const std::set<int64_t> first = minibatches(roles.front());
  const auto have_all = [&](int64_t minibatch) {
    return std::all_of(roles.begin(), roles.end(), [&](const PolicyRole& role) { return best(role, minibatch); });
  };
  const auto found = std::find_if(first.rbegin(), first.rend(), have_all);
  return found == first.rend() ? std::nullopt : std::optional(*found);
}

std::string PolicyPoints::missing(const std::vector<PolicyRole>& roles) const {
  std::vector<PolicyFlags> trained;
  for (const PolicyPoint& one : best_) trained.push_back(one.policy());
  return missing_text(roles, trained, "no minibatch that all of its policies were trained at");
}

std::string PolicyPoints::choice_text(const std::vector<std::pair<PolicyRole, int64_t>>& chosen) const {
  std::vector<int64_t> counts;
  for (const auto& [role, minibatch] : chosen)
    counts.push_back(std::count_if(tried_.begin(), tried_.end(), [&, at = minibatch](const PolicyPoint& one) {
      return one.minibatch == at && role.is(one.policy());
    }));
  if (std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count == 1; })) return "";
  return fmt::format(", best of {} and {} settings", fmt::join(counts.begin(), counts.end() - 1, ", "), counts.back());
}

std::vector<double> log_steps(const RateResult& runs) {
  std::vector<double> values;
  for (const SeedResult& run : runs.seeds) values.push_back(run.steps ? std::log(*run.steps) : kInfinity);
  return values;
}

std::optional<std::vector<double>> log_clocks(const RateResult& runs) {
  std::vector<double> values;
  for (const SeedResult& run : runs.seeds) {
    if (run.steps && !(run.clock_s && *run.clock_s > 0)) return std::nullopt;
    values.push_back(run.steps ? std::log(*run.clock_s) : kInfinity);
  }
  return values;
}

}  // namespace kb
