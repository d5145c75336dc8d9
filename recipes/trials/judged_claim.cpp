#include "recipes/trials/judged_claim.h"

#include <fmt/format.h>

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

}  // namespace kb
