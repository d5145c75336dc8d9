#include "recipes/trials/stated_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kb {
namespace {

struct StatedClaim {
  PolicyClaim claim;
  const char *statement, *paper, *criterion;
};

constexpr StatedClaim kStated[] = {
    {PolicyClaim::post_local, "post-local SGD beats the large minibatch at equal epochs",
     "Lin et al. 2020, arXiv 1808.07217: 16 workers x 128, H 16 from the first drop of the rate",
     "final error below that of sync, interval apart"},
    {PolicyClaim::slow_momentum, "local SGD costs accuracy, and slow momentum gives some back",
     "Ortiz et al. 2021, arXiv 2110.08133: at scale; slow momentum is Wang et al. 2019",
     "final error of local above that of sync, of outer momentum below that of local, intervals apart, and not below "
     "that of sync"},
    {PolicyClaim::outer_nesterov, "outer Nesterov with one replica suffers less from 4 x the minibatch than sync",
     "Charles et al. 2025, arXiv 2503.09799: 2 to 4 x the minibatch hurts it little",
     "S(4 kn) / S(kn) below that of sync, interval apart"},
    {PolicyClaim::outer_rate, "the best outer rate grows with the number of replicas",
     "Charles et al. 2025, arXiv 2503.09799: 0.4 to 0.6 with 1 replica, 0.8 with 8",
     "best outer rates in order, and with the most replicas the best rate of the fewest takes more steps, interval "
     "apart"},
    {PolicyClaim::backups, "backup workers reach the target before async and sync",
     "Chen et al. 2016, arXiv 1604.00981: faster and to a better accuracy",
     "virtual time to the target below those of async and of sync, intervals apart"},
    {PolicyClaim::stale_rate, "a rate over the staleness repairs what asynchrony costs",
     "Zhang et al. 2015, arXiv 1511.05950, equation 6: each gradient's rate is divided by its staleness",
     "S with --stale-rate inverse below that of plain, interval apart"},
    {PolicyClaim::momentum, "the best momentum falls as the number of asynchronous workers grows",
     "Mitliagkas et al. 2016, arXiv 1605.09774: k workers act as a momentum of 1 - 1 / k",
     "best momenta in order, and with the most workers the best momentum of the fewest takes more steps, interval "
     "apart"}};

}  // namespace

JudgedClaim stated(PolicyClaim claim) {
  for (const StatedClaim& row : kStated)
    if (row.claim == claim) return {row.statement, row.paper, "", row.criterion};
  return {};
}

std::string missing_text(const std::vector<PolicyRole>& roles, std::span<const PolicyFlags> trained,
                         const std::string& otherwise) {
  std::vector<std::string> missing;
  for (const PolicyRole& role : roles)
    if (std::ranges::none_of(trained, role.is)) missing.push_back(fmt::format("{} ({})", role.name, role.flags));
  return missing.empty() ? otherwise : fmt::format("no runs of {}", fmt::join(missing, ", nor of "));
}

}  // namespace kb
