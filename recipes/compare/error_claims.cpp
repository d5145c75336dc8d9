#include "recipes/compare/error_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "recipes/compare/report_table.h"
#include "recipes/report/count_text.h"

namespace kb {
namespace {

std::string what_is_judged(const ReportedRun& one) {
  return fmt::format("{} on {}, {} {}", one.run.recipe, one.run.data.empty() ? "unknown data" : one.run.data,
                     one.run.result_part, one.run.goal);
}

void check_judged_alike(const std::vector<ReportedRun>& runs) {
  for (const ReportedRun& other : runs)
    if (what_is_judged(other) != what_is_judged(runs.front()))
      throw Error(
          fmt::format("expected runs of one recipe, one data set and one error at the end, got\n  {}: {}\n  {}: {}",
                      runs.front().run.folder.string(), what_is_judged(runs.front()), other.run.folder.string(),
                      what_is_judged(other)));
}

// Returns why a run has no final error; "" if it has one.
std::string fault_of(const RunReport& run) {
  if (!run.is_done()) return "it is not done";
  return run.how == "target" ? "it ended at its target" : "";
}

std::string length_of(const ReportedRun& one) {
  const std::string steps = flag_of(one, "steps");
  return steps == "-" || steps == "0" ? flag_of(one, "epochs") + " epochs" : steps + " steps";
}

bool has_replicas(const PolicyFlags& p) { return p.sync.policy == Policy::local && p.sync.replicas != 1; }
bool is_mean(const PolicyFlags& p) { return has_replicas(p) && p.sync.outer == "sgd" && p.sync.outer_lr == 1; }

constexpr PolicyRole kSyncError{"sync", "--policy sync",
                                [](const PolicyFlags& p) { return p.sync.policy == Policy::sync; }};
constexpr PolicyRole kPostLocal{"post-local", "--policy local --replicas 2 or more --from",
                                [](const PolicyFlags& p) { return is_mean(p) && p.sync.from; }};
constexpr PolicyRole kLocal{"local", "--policy local --replicas 2 or more",
                            [](const PolicyFlags& p) { return is_mean(p) && !p.sync.from; }};
constexpr PolicyRole kSlow{
    "slow momentum", "--policy local --replicas 2 or more --outer momentum",
    [](const PolicyFlags& p) { return has_replicas(p) && !p.sync.from && p.sync.outer != "sgd"; }};

bool has(const PolicyRole& role, const PolicyGroup& group) { return role.is(group.policy); }

int64_t trained_runs(const PolicyGroup& group) {
  return std::ranges::count_if(final_errors(group.summary), [](double error) { return std::isfinite(error); });
}

// Returns the group of a role with the least mean error; null if there is none. A group counts if at most half of its
// runs diverged and it has more than half as many others as the group with most: the mean of what is left of a rate at
// which trainings diverge, or of a rate that was tried once, is no error of the policy. If none counts, the one with
// the most runs that trained is returned.
const PolicyGroup* best_group(const std::vector<PolicyGroup>& groups, const PolicyRole& role, int64_t minibatch,
                              const std::string& length) {
  std::vector<const PolicyGroup*> tried;
  int64_t most = 0;
  for (const PolicyGroup& one : groups)
    if (has(role, one) && one.minibatch == minibatch && one.length == length) tried.push_back(&one);
  const auto mostly_trains = [](const PolicyGroup& one) {
    return 2 * trained_runs(one) >= std::ssize(one.summary.runs) && trained_runs(one) > 0;
  };
  for (const PolicyGroup* one : tried)
    if (mostly_trains(*one)) most = std::max(most, trained_runs(*one));
  const auto key = [&](const PolicyGroup* one) {
    const bool counts = mostly_trains(*one) && 2 * trained_runs(*one) > most;
    const double sign = one->summary.goal_kind.higher_is_better ? -1 : 1;
    return std::tuple(!counts, counts ? sign * one->summary.last->mean : 0, -trained_runs(*one));
  };
  const auto best = std::ranges::min_element(tried, {}, key);
  return best == tried.end() ? nullptr : *best;
}

using Chosen = std::vector<const PolicyGroup*>;

// Returns a group of each role, all of one minibatch, the largest, and one length; none if there is no such.
Chosen chosen_groups(const std::vector<PolicyGroup>& groups, const std::vector<PolicyRole>& roles) {
  for (auto at = groups.rbegin(); at != groups.rend(); ++at) {
    Chosen chosen;
    for (const PolicyRole& role : roles) chosen.push_back(best_group(groups, role, at->minibatch, at->length));
    if (std::find(chosen.begin(), chosen.end(), nullptr) == chosen.end()) return chosen;
  }
  return {};
}

std::string missing(const std::vector<PolicyGroup>& groups, const std::vector<PolicyRole>& roles) {
  std::vector<PolicyFlags> trained;
  for (const PolicyGroup& one : groups) trained.push_back(one.policy);
  return missing_text(roles, trained, "no minibatch and length that all of its policies were trained at");
}

// Returns the error of a chosen group, and of how many it was chosen: luck favours the policy that tried more.
std::string error_text(const std::vector<PolicyGroup>& groups, const PolicyRole& role, const PolicyGroup& chosen) {
  const auto tried = std::ranges::count_if(groups, [&](const PolicyGroup& one) {
    return has(role, one) && one.minibatch == chosen.minibatch && one.length == chosen.length;
  });
  return fmt::format("{} {}{}", policy_name(chosen.policy), goal_text(chosen.summary, chosen.summary.last),
                     tried > 1 ? fmt::format(", best of {} settings", tried) : "");
}

Evidence judge_errors(const PolicyGroup& group, const PolicyGroup& reference, bool is_at_most) {
  return judge_all(final_errors(group.summary), final_errors(reference.summary), is_at_most);
}

// Lin et al. 2020, arXiv 1808.07217.
JudgedClaim post_local(const std::vector<PolicyGroup>& groups) {
  JudgedClaim claim = stated(PolicyClaim::post_local);
  const Chosen chosen = chosen_groups(groups, {kPostLocal, kSyncError});
  if (chosen.empty()) {
    claim.ours = missing(groups, {kPostLocal, kSyncError});
    return claim;
  }
  claim.evidence = judge_errors(*chosen[0], *chosen[1], true);
  claim.ours = fmt::format("{}: {}; {}, minibatch {}, {}", evidence_text(claim.evidence, false),
                           error_text(groups, kPostLocal, *chosen[0]), error_text(groups, kSyncError, *chosen[1]),
                           chosen[0]->minibatch, chosen[0]->length);
  return claim;
}

// Ortiz et al. 2021, arXiv 2110.08133.
JudgedClaim slow_momentum(const std::vector<PolicyGroup>& groups) {
  JudgedClaim claim = stated(PolicyClaim::slow_momentum);
  const Chosen chosen = chosen_groups(groups, {kLocal, kSlow, kSyncError});
  if (chosen.empty()) {
    claim.ours = missing(groups, {kLocal, kSlow, kSyncError});
    return claim;
  }
  const PolicyGroup &local = *chosen[0], &slow = *chosen[1], &sync = *chosen[2];
  const Evidence costs = judge_errors(local, sync, false), gives = judge_errors(slow, local, true);
  const Verdict between = judge_errors(slow, sync, false).verdict;
  std::vector<Verdict> parts = {costs.verdict, gives.verdict};
  if (between == Verdict::not_held || between == Verdict::not_seen) parts.push_back(between);
  claim.evidence = {.verdict = verdict_of_all(parts), .seeds = std::min(costs.seeds, gives.seeds)};
  claim.ours =
      fmt::format("local less sync {}; slow momentum less local {}: {}; {}; {}, minibatch {}, {}",
                  evidence_text(costs, false), evidence_text(gives, false), error_text(groups, kLocal, local),
                  error_text(groups, kSlow, slow), error_text(groups, kSyncError, sync), local.minibatch, local.length);
  return claim;
}

}  // namespace

PolicyGroups policy_groups(const std::vector<ReportedRun>& runs) {
  check_judged_alike(runs);
  PolicyGroups result;
  std::map<std::vector<std::pair<std::string, std::string>>, size_t> places;
  std::vector<std::vector<RunReport>> members;
  for (const ReportedRun& one : runs) {
    if (const std::string fault = fault_of(one.run); !fault.empty()) {
      result.left_out.push_back(fmt::format("{} has no final error: {}", one.run.folder.string(), fault));
      continue;
    }
    const auto [at, is_new] = places.try_emplace(compared_flags(one.flags), members.size());
    if (is_new) {
      members.emplace_back();
      result.groups.push_back({one.run.policy, one.run.minibatch, one.run.rate, length_of(one)});
    }
    members[at->second].push_back(one.run);
  }
  for (size_t i = 0; i < members.size(); ++i) result.groups[i].summary = summary_of(std::move(members[i]));
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const PolicyGroup& a, const PolicyGroup& b) { return a.minibatch < b.minibatch; });
  return result;
}

std::string groups_text(const std::vector<PolicyGroup>& groups) {
  std::string text = fmt::format("{:<32} {:>9}  {:>8}  {:<10}  {:>4}  {}\n", "policy", "minibatch", "rate", "length",
                                 "runs", "final error");
  for (const PolicyGroup& one : groups)
    text += fmt::format("{:<32} {:>9}  {:>8}  {:<10}  {:>4}  {}\n", policy_name(one.policy), one.minibatch,
                        number_or_dash(one.rate), one.length, one.summary.runs.size(),
                        goal_text(one.summary, one.summary.last));
  return text;
}

std::vector<JudgedClaim> error_claims(const std::vector<PolicyGroup>& groups) {
  return {post_local(groups), slow_momentum(groups)};
}

}  // namespace kb
