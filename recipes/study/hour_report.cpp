#include "recipes/study/hour_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "recipes/report/svg.h"
#include "recipes/study/wrapped.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

std::string result_text(const HourReport& report, const HourArm& arm) {
  const auto at = report.results.find(arm.name);
  return at == report.results.end() ? "not trained" : goal_text(at->second, at->second.last);
}

std::string train_loss_text(const HourReport& report, const HourArm& arm) {
  const auto at = report.results.find(arm.name);
  return at == report.results.end() || !at->second.train_loss ? "-"
                                                              : fmt::format("{:.3f}", at->second.train_loss->mean);
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return row + "</tr>\n";
}

std::string results_table(const HourReport& report) {
  std::string html = "<table>\n" + table_row({"kn", "learning rate", "start", "test error", "train loss", "stands for",
                                              "error there, %", "runs"},
                                             "th");
  for (const HourArm& arm : report.arms) {
    std::string runs;
    const auto at = report.results.find(arm.name);
    if (at != report.results.end())
      for (const RunReport& run : at->second.runs)
        runs += fmt::format(R"(<a href="{}/curves.svg">{}</a> )", xml_text(run.folder.filename().string()), run.seed);
    html += table_row({fmt::to_string(arm.minibatch), xml_text(arm.rate), xml_text(arm.start),
                       xml_text(result_text(report, arm)), train_loss_text(report, arm), xml_text(arm.paper),
                       xml_text(fmt::format("{} ({})", arm.paper_error, arm.source)), runs},
                      "td");
  }
  return html + "</table>\n";
}

std::string claims_table(const HourReport& report) {
  std::string html = "<table>\n" + table_row({"claim", "the paper", "here", "criterion", ""}, "th");
  for (const HourClaim& claim : report.claims) {
    const char* color = claim.verdict == Verdict::held       ? "held"
                        : claim.verdict == Verdict::not_held ? "missed"
                                                             : "open";
    html += table_row({xml_text(claim.claim), xml_text(claim.paper), xml_text(claim.ours), xml_text(claim.criterion),
                       fmt::format(R"(<b class="{}">{}</b>)", color, text_of(claim.verdict))},
                      "td");
  }
  return html + "</table>\n";
}

constexpr const char* kPageStyle =
    "body{font:15px/1.45 Helvetica,Arial,'DejaVu Sans',sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;"
    "color:#222}"
    "table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}"
    "th,td{text-align:left;padding:.3em .7em;border-bottom:1px solid #ddd;vertical-align:top}"
    "th{font-weight:600;background:#f5f5f5}code{background:#f5f5f5;padding:.15em .3em;overflow-wrap:anywhere}"
    "svg{max-width:100%;height:auto}.held{color:#00704f}.missed{color:#b34700}.open{color:#666}";

}  // namespace

std::string hour_table(const HourReport& report) {
  std::string text =
      fmt::format("{:>5}  {:<17} {:<18} {:<20} {}\n", "kn", "learning rate", "start", "test error", "the paper, %");
  for (const HourArm& arm : report.arms) {
    const std::string result = result_text(report, arm);
    const size_t remark = result.find(" (");  // on a line of its own, which keeps the table at 80 columns
    text += fmt::format("{:>5}  {:<17} {:<18} {:<20} {} at {}\n", arm.minibatch, arm.rate,
                        arm.start.substr(0, arm.start.find(',')), result.substr(0, remark),
                        arm.paper_error.substr(0, arm.paper_error.find(' ')), arm.paper.substr(0, arm.paper.find(',')));
    if (remark != std::string::npos) text += fmt::format("{:44}{}\n", "", result.substr(remark + 1));
  }
  return text;
}

std::string hour_claims_text(const HourReport& report) {
  std::string text;
  for (const HourClaim& claim : report.claims) {
    text += wrapped(fmt::format("{:<10} ", text_of(claim.verdict)), claim.claim) + wrapped("  paper    ", claim.paper) +
            wrapped("  here     ", claim.ours);
    if (claim.verdict != Verdict::not_tested) text += wrapped("  held if  ", claim.criterion);
  }
  return text;
}

std::string hour_page(const HourReport& report, const std::string& curves) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>{0}</h1>\n<p>The trainings of Goyal et al. 2017, <i>Accurate, large minibatch SGD: training ImageNet in 1 "
      "hour</i>, on a small net: {2}. Errors are of the test set at the end, mean +- standard deviation of the sample "
      "over the seeds.</p>\n<p><code>{3}</code></p>\n<h2>Trainings</h2>\n{4}<h2>Claims</h2>\n{5}<h2>Curves</h2>\n{6}"
      "</body></html>\n",
      xml_text(report.title), kPageStyle, "n = 32 samples a worker, as many workers as the minibatch holds",
      xml_text(report.command), results_table(report), claims_table(report), curves);
}

std::string hour_json(const HourReport& report) {
  Json json = {
      {"title", report.title}, {"command", report.command}, {"arms", Json::array()}, {"claims", Json::array()}};
  for (const HourArm& arm : report.arms) {
    Json entry = {{"name", arm.name},   {"minibatch", arm.minibatch},     {"arguments", arm.words},
                  {"paper", arm.paper}, {"paper_error", arm.paper_error}, {"source", arm.source}};
    if (const auto at = report.results.find(arm.name); at != report.results.end())
      entry["summary"] = Json::parse(summary_json(at->second, ""));
    json["arms"].push_back(std::move(entry));
  }
  for (const HourClaim& claim : report.claims)
    json["claims"].push_back({{"claim", claim.claim},
                              {"paper", claim.paper},
                              {"ours", claim.ours},
                              {"criterion", claim.criterion},
                              {"verdict", text_of(claim.verdict)}});
  return json.dump(2) + "\n";
}

}  // namespace kb
