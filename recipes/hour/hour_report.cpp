#include "recipes/hour/hour_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"
#include "recipes/trials/wrapped.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

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
