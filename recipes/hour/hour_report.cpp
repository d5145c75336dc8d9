#include "recipes/hour/hour_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"
#include "recipes/trials/wrapped.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr const char* kBaseline = "kn32";

// A claim before it is judged. If it cannot be tested at this size, `reference` is empty and `arm` holds the reason.
struct ClaimRow {
  const char *arm, *reference;
  bool is_at_most;  // whether the error is to be at most, not at least, that of the reference plus the margin
  double margin;    // percentage points
  const char *claim, *paper;
};

constexpr ClaimRow kBrief[] = {
    {"kn256-gradual", kBaseline, true, 1, "the linear scaling rule keeps the error of a small minibatch",
     "23.49 at kn 2k, 23.60 at 256 (figure 1)"},
    {"kn256-fixed", kBaseline, false, 1, "without it, at the small minibatch's rate, the error is worse",
     "41.67 at kn 8k, 23.60 at 256 (table 2a)"}};

constexpr ClaimRow kFull[] = {
    {"kn256-gradual", kBaseline, true, 0.5, "the linear scaling rule with gradual warmup keeps the baseline's error",
     "23.49 at kn 2k, 23.60 at 256 (figure 1)"},
    {"kn512-gradual", kBaseline, true, 0.5, "so it does at a minibatch twice as large",
     "23.74 at kn 8k, 23.60 at 256 (table 1)"},
    {"kn512-fixed", kBaseline, false, 1, "at the baseline's rate a large minibatch is worse",
     "41.67 at kn 8k (table 2a)"},
    {"kn512-no-warmup", kBaseline, false, 3, "without warmup it is worse", "24.84 at kn 8k (table 1)"},
    {"kn512-constant", kBaseline, false, 3, "with constant warmup it is worse", "25.88 at kn 8k (table 1)"},
    {"kn1024-gradual", kBaseline, false, 1, "beyond some minibatch the rule breaks",
     "24.79 at kn 16k, 33.96 at 64k (figure 1)"},
    {"kn4096-lars", "kn4096-sgd", true, 0, "layer-wise rates (LARS) train a large minibatch better than plain SGD",
     "You et al. 2017: accuracy of AlexNet at 4k 58.5 % with LARS, 53.1 % without"},
    {"does not show at this size: both diverge or scatter", "", true, 0, "constant warmup is worse than none",
     "25.88 against 24.84 at kn 8k (table 1)"},
    {"does not show at this size", "", true, 0, "the square-root rule is worse than the linear one",
     "26.22 against 23.74 at kn 8k (table 2a)"}};

std::span<const ClaimRow> rows_of(HourPlan plan) {
  return plan == HourPlan::brief ? std::span<const ClaimRow>(kBrief) : kFull;
}

// Returns the looks of a study that begins with `first_look` seeds: with fewer than kFewestHourLooks there are no
// further ones.
Looks looks_from(size_t first_look) {
  const size_t first = std::max<size_t>(1, first_look);
  return {first, first < kFewestHourLooks ? first : std::max(first, kMostHourSeeds)};
}

// Returns the errors of an arm in per cent, infinity for a run that diverged; nothing if one of its trainings is
// missing.
std::optional<std::vector<double>> errors_of(const std::map<std::string, Summary>& arms, const std::string& name) {
  const auto at = arms.find(name);
  if (at == arms.end() || at->second.failed > 0) return std::nullopt;
  return final_errors(at->second);
}

std::string arm_text(const std::map<std::string, Summary>& arms, const std::string& name) {
  const auto at = arms.find(name);
  if (at == arms.end()) return fmt::format("not trained ({})", name);
  std::string text = goal_text(at->second, at->second.last);
  if (at->second.failed > 0) text += fmt::format(" ({} not trained)", at->second.failed);
  return fmt::format("{} ({})", text, name);
}

HourClaim judged(const ClaimRow& row, const std::map<std::string, Summary>& arms, size_t first_look) {
  HourClaim claim{{row.claim, row.paper}};
  if (*row.reference == '\0') {
    claim.ours = row.arm;
    claim.criterion = "-";
    return claim;
  }
  claim.arm = row.arm;
  claim.reference = row.reference;
  claim.criterion = row.margin == 0 ? fmt::format("{} {}", row.is_at_most ? "below" : "above", row.reference)
                                    : fmt::format("at {} {:g} point{} above {}", row.is_at_most ? "most" : "least",
                                                  row.margin, row.margin == 1 ? "" : "s", row.reference);
  claim.ours = arm_text(arms, row.arm) + "; " + arm_text(arms, row.reference);
  const auto errors = errors_of(arms, row.arm), reference = errors_of(arms, row.reference);
  const Looks looks = looks_from(first_look);
  if (!errors || !reference || std::min(errors->size(), reference->size()) < looks.first) return claim;
  claim.evidence = judge_difference(*errors, *reference, row.margin, row.is_at_most, looks);
  claim.ours = evidence_text(claim.evidence, claim.is_ratio) + ": " + claim.ours;
  return claim;
}

constexpr const char* kIntervals =
    "Intervals of differences (Welch's) are of 95 % over all looks if errors scatter normally. If the errors of one "
    "configuration are skewed and scatter far more than those of the other, as they do near a rate at which trainings "
    "diverge, the intervals hold the difference in 86 to 94 % of simulated studies.";

std::string result_text(const HourReport& report, const HourArm& arm) {
  const auto at = report.results.find(arm.name);
  return at == report.results.end() ? "not trained" : goal_text(at->second, at->second.last);
}

std::string train_loss_text(const HourReport& report, const HourArm& arm) {
  const auto at = report.results.find(arm.name);
  return at == report.results.end() || !at->second.train_loss ? "-"
                                                              : fmt::format("{:.3f}", at->second.train_loss->mean);
}

std::string results_table(const HourReport& report) {
  HtmlTable table({"kn", "learning rate", "start", "test error", "train loss", "stands for", "error there, %", "runs"});
  for (const HourArm& arm : report.arms) {
    std::string runs;
    const auto at = report.results.find(arm.name);
    if (at != report.results.end())
      for (const RunReport& run : at->second.runs)
        runs += fmt::format(R"(<a href="{}/curves.svg">{}</a> )", xml_text(run.folder.filename().string()), run.seed);
    table.row({fmt::to_string(arm.minibatch), xml_text(arm.rate), xml_text(arm.start),
               xml_text(result_text(report, arm)), train_loss_text(report, arm), xml_text(arm.paper),
               xml_text(fmt::format("{} ({})", arm.paper_error, arm.source)), runs});
  }
  return table.str();
}

std::vector<JudgedClaim> claims_of(const HourReport& report) { return {report.claims.begin(), report.claims.end()}; }

}  // namespace

std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look) {
  std::vector<HourClaim> claims;
  for (const ClaimRow& row : rows_of(plan)) claims.push_back(judged(row, arms, first_look));
  return claims;
}

size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look) {
  size_t wanted = first_look;
  const Looks looks = looks_from(first_look);
  for (const HourClaim& claim : claims) {
    if (claim.arm != arm && claim.reference != arm) continue;
    const bool is_undecided = claim.evidence.verdict == Verdict::undecided;
    const size_t asked = claim.evidence.seeds + (is_undecided ? 1 : 0);
    wanted = std::max(wanted, std::min(asked, looks.last));
  }
  return wanted;
}

std::string hour_table(const HourReport& report) {
  std::string text =
      fmt::format("{:>5}  {:<17} {:<18} {:<20} {}\n", "kn", "learning rate", "start", "test error", "the paper, %");
  for (const HourArm& arm : report.arms) {
    const std::string result = result_text(report, arm);
    const size_t remark = result.find(" (");  // start of a remark, which gets a line of its own
    text += fmt::format("{:>5}  {:<17} {:<18} {:<20} {} at {}\n", arm.minibatch, arm.rate,
                        arm.start.substr(0, arm.start.find(',')), result.substr(0, remark),
                        arm.paper_error.substr(0, arm.paper_error.find(' ')), arm.paper.substr(0, arm.paper.find(',')));
    if (remark != std::string::npos) text += fmt::format("{:44}{}\n", "", result.substr(remark + 1));
  }
  return text;
}

std::string hour_claims_text(const HourReport& report) { return claims_text(claims_of(report)); }

std::string hour_intervals_text(const HourReport& report) {
  const bool has_intervals = std::any_of(report.claims.begin(), report.claims.end(), [](const HourClaim& claim) {
    return claim.evidence.low < claim.evidence.high;
  });
  return has_intervals ? "\n" + wrapped("", kIntervals) : "";
}

std::string hour_searches_text(const HourReport& report) {
  std::string text;
  for (const std::string& search : report.searches) text += wrapped("search     ", search);
  return text;
}

std::string hour_page(const HourReport& report, const std::string& curves) {
  std::string searches;
  for (const std::string& search : report.searches) searches += fmt::format("<p>Search {}.</p>\n", xml_text(search));
  const std::string body = fmt::format(
      "<p>The trainings of Goyal et al. 2017, <i>Accurate, large minibatch SGD: training ImageNet in 1 hour</i>, on a "
      "small net: n = 32 samples a worker, as many workers as the minibatch holds. Errors are of the test set at the "
      "end, mean +- standard deviation of the sample over the seeds.</p>\n<p><code>{}</code></p>\n"
      "<h2>Trainings</h2>\n{}{}<h2>Claims</h2>\n<p>A claim is judged by where the interval of the difference of the "
      "errors (Welch's) lies against its margin; where seeds diverged, by the exact test of ranks. Where it is "
      "undecided a further seed is trained, up to {}. {}</p>\n{}<h2>Curves</h2>\n<div class=\"scroll "
      "wide\">{}</div>\n",
      xml_text(report.command), results_table(report), searches, kMostHourSeeds, kIntervals,
      claims_table(claims_of(report)), curves);
  return html_page(report.title, body);
}

std::string hour_json(const HourReport& report) {
  Json json = {{"title", report.title},
               {"command", report.command},
               {"arms", Json::array()},
               {"claims", claims_json(claims_of(report))}};
  for (const HourArm& arm : report.arms) {
    Json entry = {{"name", arm.name},   {"minibatch", arm.minibatch},     {"arguments", arm.words},
                  {"paper", arm.paper}, {"paper_error", arm.paper_error}, {"source", arm.source}};
    if (const auto at = report.results.find(arm.name); at != report.results.end())
      entry["summary"] = copy_of(parse_json(summary_json(at->second, ""), "summary"));
    json["arms"].push_back(std::move(entry));
  }
  json["searches"] = report.searches;
  return json.dump(2) + "\n";
}

std::string hour_next(HourPlan plan) {
  if (plan == HourPlan::full) return "";
  return "next: all claims of the paper, on photographs (more than an hour on 2 cores)\n"
         "      ./run get fashion-mnist datasets\n"
         "      ./run hour --dataset fashion-mnist --data datasets --seeds 1..3";
}

}  // namespace kb
