#include "recipes/trials/judged_claim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

Json claim_json(const JudgedClaim& claim) {
  const Evidence& evidence = claim.evidence;
  const auto figure = [&](double difference) { return claim.is_ratio ? std::exp(difference) : difference; };
  Json json = {{"claim", claim.claim},
               {"paper", claim.paper},
               {"ours", claim.ours},
               {"criterion", claim.criterion},
               {"verdict", text_of(evidence.verdict)},
               {"seeds", evidence.seeds}};
  if (evidence.reference_seeds != 0 && evidence.reference_seeds != evidence.seeds)
    json["reference_seeds"] = evidence.reference_seeds;
  if (evidence.is_ranked) json["rank_sum_p"] = evidence.p;
  if (evidence.difference) json[claim.is_ratio ? "ratio" : "difference"] = figure(*evidence.difference);
  if (evidence.low < evidence.high) json["interval"] = {{"low", figure(evidence.low)}, {"high", figure(evidence.high)}};
  return json;
}

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

std::string evidence_text(const Evidence& evidence, bool is_ratio) {
  std::string text;
  if (evidence.is_ranked)
    text =
        fmt::format("some {}: by ranks, one-sided p {:.3f}", is_ratio ? "missed the target" : "diverged", evidence.p);
  else if (evidence.difference)
    text = is_ratio ? fmt::format("x {:.3g}", std::exp(*evidence.difference))
                    : fmt::format("{:+.2f}", *evidence.difference);
  if (evidence.low < evidence.high)
    text += is_ratio ? fmt::format(" ({:.3g} to {:.3g})", std::exp(evidence.low), std::exp(evidence.high))
                     : fmt::format(" ({:.2f} to {:.2f})", evidence.low, evidence.high);
  const bool are_equal = evidence.seeds == evidence.reference_seeds || evidence.reference_seeds == 0;
  return text + fmt::format("{}{}{} seed{}", text.empty() ? "" : ", ", evidence.seeds,
                            are_equal ? "" : fmt::format(" and {}", evidence.reference_seeds),
                            evidence.seeds == 1 && are_equal ? "" : "s");
}

std::string claims_text(const std::vector<JudgedClaim>& claims) {
  std::string text;
  for (const JudgedClaim& claim : claims) {
    text += wrapped(fmt::format("{:<10} ", text_of(claim.evidence.verdict)), claim.claim) +
            wrapped("  paper    ", claim.paper) + wrapped("  here     ", claim.ours);
    if (claim.evidence.verdict != Verdict::not_tested) text += wrapped("  held if  ", claim.criterion);
  }
  return text;
}

std::string claims_table(const std::vector<JudgedClaim>& claims) {
  HtmlTable table({"claim", "the paper", "here", "criterion", ""});
  for (const JudgedClaim& claim : claims) {
    const Verdict verdict = claim.evidence.verdict;
    const char* color = verdict == Verdict::held ? "good" : verdict == Verdict::not_held ? "bad" : "quiet";
    table.row({xml_text(claim.claim), xml_text(claim.paper), xml_text(claim.ours), xml_text(claim.criterion),
               fmt::format(R"(<b class="{}">{}</b>)", color, text_of(verdict))});
  }
  return table.str();
}

Json claims_json(const std::vector<JudgedClaim>& claims) {
  Json list = Json::array();
  for (const JudgedClaim& claim : claims) list.push_back(claim_json(claim));
  return list;
}

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
