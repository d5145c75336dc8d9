#include "recipes/answer/policy_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "recipes/answer/best_rates.h"
#include "recipes/config/network.h"

namespace kb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the logarithms of the steps to the target, a value a run; infinity for a run that missed it.
std::vector<double> log_steps(const RateResult& runs) {
  std::vector<double> values;
  for (const Measurement& run : runs.seeds) values.push_back(run.steps ? std::log(*run.crossing()) : kInfinity);
  return values;
}

// Returns those of the virtual seconds; nothing if a run that reached the target has no clock.
std::optional<std::vector<double>> log_clocks(const RateResult& runs) {
  std::vector<double> values;
  for (const Measurement& run : runs.seeds) {
    if (run.steps && !(run.clock_s && *run.clock_s > 0)) return std::nullopt;
    values.push_back(run.steps ? std::log(*run.clock_s) : kInfinity);
  }
  return values;
}

// Returns the point of a minibatch that missed the target: at the rate with the most runs, the first of equals.
PolicyPoint missed_point(const MinibatchResults& at) {
  const auto most = std::max_element(at.rates.begin(), at.rates.end(),
                                     [](const RateResult& a, const RateResult& b) { return a.runs < b.runs; });
  return {at.minibatch, &*most, kInfinity};
}

bool has_outer_nesterov(const PolicyFlags& p) {
  return p.sync.policy == Policy::local && p.sync.outer == "nesterov" && !p.sync.from;
}
bool is_async(const PolicyFlags& p, StaleRate rate) {
  return p.sync.policy == Policy::async && p.sync.stale_rate == rate;
}
bool is_plain_async(const PolicyFlags& p) {
  return is_async(p, StaleRate::plain) && p.sync.momentum_at == MomentumAt::server && p.per_worker > 0;
}
// Returns whether virtual times of two policies are on one clock.
bool have_one_clock(const Synchronising& a, const Synchronising& b) {
  return a.times == b.times && network_words(a.net) == network_words(b.net);
}

constexpr PolicyRole kSync{"sync", "--policy sync", [](const PolicyFlags& p) { return p.sync.policy == Policy::sync; }};
constexpr PolicyRole kNesterovOfOne{"outer Nesterov with one replica", "--policy local --replicas 1 --outer nesterov",
                                    [](const PolicyFlags& p) { return has_outer_nesterov(p) && p.sync.replicas == 1; }};
constexpr PolicyRole kAsync{"async", "--policy async",
                            [](const PolicyFlags& p) { return is_async(p, StaleRate::plain); }};
constexpr PolicyRole kInverse{"async with a rate over the staleness", "--policy async --stale-rate inverse",
                              [](const PolicyFlags& p) { return is_async(p, StaleRate::inverse); }};
constexpr PolicyRole kBackup{"backup workers", "--policy backup", [](const PolicyFlags& p) {
                               return p.sync.policy == Policy::backup && p.sync.backups > 0;
                             }};
// Synchronous training on the virtual clock of the others: an update waits for the slowest of k workers.
constexpr PolicyRole kSyncOnClock{"sync on the virtual clock", "--policy backup --backups 0", [](const PolicyFlags& p) {
                                    return p.sync.policy == Policy::backup && p.sync.backups == 0;
                                  }};

// Judges whether the first values, logarithms, are below the second.
Evidence judge_below(const std::vector<double>& values, const std::vector<double>& reference) {
  return judge_all(values, reference, true);
}

// Returns log S at kn and at 4 kn.
GrowthSample log_growth(const PolicyPoint& at, const PolicyPoint& at_four) {
  return {log_steps(*at.runs), log_steps(*at_four.runs)};
}

// Returns whether the mean of a point's runs is known. Without the runs that missed the target it would be too low.
bool all_reached(const PolicyPoint& at) { return at.runs->steps.size() == at.runs->runs; }

std::string growth_text(const PolicyPoint& at, const PolicyPoint& at_four) {
  return std::isfinite(at_four.steps) ? fmt::format("{:.3g}", at_four.steps / at.steps) : "unknown (target missed)";
}

// Charles et al. 2025, arXiv 2503.09799.
JudgedClaim outer_nesterov(const PolicyPoints& points) {
  JudgedClaim claim = stated(PolicyClaim::outer_nesterov);
  claim.is_ratio = true;
  claim.ours = points.missing({kNesterovOfOne, kSync});
  const std::set<int64_t> minibatches = points.minibatches(kNesterovOfOne);
  for (auto at = minibatches.rbegin(); at != minibatches.rend(); ++at) {
    const int64_t four = 4 * *at;
    const PolicyPoint *outer = points.best(kNesterovOfOne, *at), *outer_four = points.best(kNesterovOfOne, four);
    const PolicyPoint *sync = points.best(kSync, *at), *sync_four = points.best(kSync, four);
    if (!outer_four || !sync || !sync_four || !all_reached(*outer) || !all_reached(*sync)) continue;
    claim.evidence = judge_growth(log_growth(*outer, *outer_four), log_growth(*sync, *sync_four));
    claim.ours =
        fmt::format("S({}) / S({}) is {}, {} with sync: {}{}", four, *at, growth_text(*outer, *outer_four),
                    growth_text(*sync, *sync_four), evidence_text(claim.evidence, true),
                    points.choice_text({{kNesterovOfOne, *at}, {kNesterovOfOne, four}, {kSync, *at}, {kSync, four}}));
    return claim;
  }
  if (!minibatches.empty() && !points.minibatches(kSync).empty())
    claim.ours = "no minibatch kn at which all runs of both reached the target, and which were trained at 4 kn";
  return claim;
}

// Chen et al. 2016, arXiv 1604.00981.
JudgedClaim backups(const PolicyPoints& points) {
  JudgedClaim claim = stated(PolicyClaim::backups);
  claim.is_ratio = true;
  const std::optional<int64_t> minibatch = points.largest_common({kBackup, kAsync, kSyncOnClock});
  if (!minibatch) {
    claim.ours = points.missing({kBackup, kAsync, kSyncOnClock});
    return claim;
  }
  const PolicyPoint& own = *points.best(kBackup, *minibatch);
  std::vector<Verdict> verdicts;
  std::vector<std::string> texts;
  for (const PolicyRole& role : {kAsync, kSyncOnClock}) {
    const PolicyPoint& other = *points.best(role, *minibatch);
    const auto clocks = log_clocks(*own.runs), reference = log_clocks(*other.runs);
    if (!have_one_clock(own.policy().sync, other.policy().sync) || own.workers() != other.workers() || !clocks ||
        !reference) {
      claim.ours = fmt::format(
          "at minibatch {} backup workers and {} have no common clock: they differ in --times, --times-net or "
          "--per-worker, or a run has none",
          *minibatch, role.name);
      claim.evidence = {};
      return claim;
    }
    claim.evidence = judge_below(*clocks, *reference);
    verdicts.push_back(claim.evidence.verdict);
    texts.push_back(fmt::format("over that of {} {}", role.name, evidence_text(claim.evidence, true)));
  }
  claim.evidence = {.verdict = verdict_of_all(verdicts), .seeds = claim.evidence.seeds};
  claim.ours =
      fmt::format("minibatch {}, {} workers: virtual time {}{}", *minibatch, own.workers(), fmt::join(texts, "; "),
                  points.choice_text({{kBackup, *minibatch}, {kAsync, *minibatch}, {kSyncOnClock, *minibatch}}));
  return claim;
}

// Zhang et al. 2015, arXiv 1511.05950.
JudgedClaim stale_rate(const PolicyPoints& points) {
  JudgedClaim claim = stated(PolicyClaim::stale_rate);
  claim.is_ratio = true;
  const std::optional<int64_t> minibatch = points.largest_common({kInverse, kAsync});
  if (!minibatch) {
    claim.ours = points.missing({kInverse, kAsync});
    return claim;
  }
  const PolicyPoint &inverse = *points.best(kInverse, *minibatch), &plain = *points.best(kAsync, *minibatch);
  claim.evidence = judge_below(log_steps(*inverse.runs), log_steps(*plain.runs));
  claim.ours = fmt::format("minibatch {}, {} workers: steps over those of plain {}{}", *minibatch, inverse.workers(),
                           evidence_text(claim.evidence, true),
                           points.choice_text({{kInverse, *minibatch}, {kAsync, *minibatch}}));
  return claim;
}

// A claim about how the best value of a flag moves with a count: of replicas, of workers.
struct OrderRule {
  PolicyClaim claim;
  bool is_rising;            // whether the best value is to grow with the count
  const char *count, *flag;  // names for texts: "R", "outer-lr"
  bool (*is)(const PolicyFlags&);
  int64_t (*group)(const PolicyPoint&);  // points of one group are compared
  int64_t (*count_of)(const PolicyPoint&);
  std::optional<double> (*value_of)(const PolicyPoint&);
};

// Charles et al. 2025: at one minibatch.
constexpr OrderRule kOuterRate{PolicyClaim::outer_rate,
                               true,
                               "R",
                               "outer-lr",
                               has_outer_nesterov,
                               [](const PolicyPoint& one) { return one.minibatch; },
                               [](const PolicyPoint& one) { return one.policy().replicas(one.minibatch); },
                               [](const PolicyPoint& one) { return std::optional(one.policy().sync.outer_lr); }};
// Mitliagkas et al. 2016, arXiv 1605.09774: with as many samples a gradient.
constexpr OrderRule kMomentum{PolicyClaim::momentum,
                              false,
                              "k",
                              "momentum",
                              is_plain_async,
                              [](const PolicyPoint& one) { return one.policy().per_worker; },
                              [](const PolicyPoint& one) { return one.workers(); },
                              [](const PolicyPoint& one) { return one.policy().momentum; }};

// Values of a flag that were tried at one count, each with its best point.
using Tried = std::map<double, const PolicyPoint*>;
using TriedByCount = std::map<int64_t, Tried>;

const std::pair<const double, const PolicyPoint*>& best_of(const Tried& tried) {
  return *std::min_element(tried.begin(), tried.end(),
                           [](const auto& a, const auto& b) { return a.second->steps < b.second->steps; });
}

// Returns the group with the most counts at which several values were tried and one reached the target; of equal ones
// the last.
TriedByCount widest_group(const PolicyPoints& points, const OrderRule& rule) {
  std::map<int64_t, TriedByCount> groups;
  for (const PolicyPoint& one : points.tried()) {
    const std::optional<double> value = rule.is(one.policy()) ? rule.value_of(one) : std::nullopt;
    if (!value) continue;
    const PolicyPoint*& best = groups[rule.group(one)][rule.count_of(one)].try_emplace(*value, &one).first->second;
    if (one.steps < best->steps) best = &one;
  }
  TriedByCount widest;
  for (auto& [group, counts] : groups) {
    std::erase_if(counts, [](const auto& at) {
      return at.second.size() < 2 || !std::isfinite(best_of(at.second).second->steps);
    });
    if (counts.size() >= widest.size()) widest = counts;
  }
  return widest;
}

// Returns the tried value that is nearest to another.
double nearest_tried(const Tried& tried, double value) {
  return std::min_element(
             tried.begin(), tried.end(),
             [&](const auto& a, const auto& b) { return std::abs(a.first - value) < std::abs(b.first - value); })
      ->first;
}

// Returns the verdict on an order from that on the last count: whether its best value takes fewer steps than the best
// one of the first count.
Verdict order_verdict(const std::vector<double>& best, bool is_rising, Verdict told) {
  if (best.front() == best.back()) return Verdict::undecided;
  const bool rises = std::is_sorted(best.begin(), best.end()), falls = std::is_sorted(best.rbegin(), best.rend());
  if (is_rising ? rises : falls) return told;
  return told == Verdict::held ? Verdict::not_held : told == Verdict::seen ? Verdict::not_seen : Verdict::undecided;
}

JudgedClaim ordered(const PolicyPoints& points, const OrderRule& rule) {
  JudgedClaim claim = stated(rule.claim);
  claim.is_ratio = true;
  const TriedByCount counts = widest_group(points, rule);
  if (counts.size() < 2) {
    claim.ours = fmt::format("fewer than two {} at which two values of --{} or more were tried", rule.count, rule.flag);
    return claim;
  }
  std::vector<double> best;
  std::vector<std::string> texts;
  for (const auto& [count, tried] : counts) {
    best.push_back(best_of(tried).first);
    texts.push_back(fmt::format("{} {}: {:.4g}", rule.count, count, best.back()));
  }
  const auto& [last, tried] = *counts.rbegin();
  const double other = nearest_tried(tried, best.front());
  claim.ours = fmt::format("{} {}", rule.flag, fmt::join(texts, ", "));
  claim.evidence.verdict = Verdict::undecided;
  if (other == best.back()) return claim;
  claim.evidence = judge_below(log_steps(*best_of(tried).second->runs), log_steps(*tried.at(other)->runs));
  claim.evidence.verdict = order_verdict(best, rule.is_rising, claim.evidence.verdict);
  claim.ours += fmt::format("; with {} {} its steps over those of {:.4g} {}", rule.count, last, other,
                            evidence_text(claim.evidence, true));
  return claim;
}

JudgedClaim of_runs(PolicyClaim which) {
  JudgedClaim claim = stated(which);
  claim.ours = "final errors are compared by ./run compare RUN...";
  return claim;
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

std::vector<JudgedClaim> policy_claims(const std::vector<NamedStudy>& studies) {
  const PolicyPoints points(studies);
  return {of_runs(PolicyClaim::post_local),
          of_runs(PolicyClaim::slow_momentum),
          outer_nesterov(points),
          ordered(points, kOuterRate),
          backups(points),
          stale_rate(points),
          ordered(points, kMomentum)};
}

}  // namespace kb
