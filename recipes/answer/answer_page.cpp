#include "recipes/answer/answer_page.h"

#include <fmt/format.h>

#include <filesystem>

#include "recipes/answer/answer_text.h"
#include "recipes/answer/target_cost.h"
#include "recipes/report/count_text.h"
#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

std::string unbroken(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == ' ' ? std::string("&nbsp;") : std::string(1, c);
  return result;
}

std::string interval_cell(const ConfidenceInterval& interval) {
  return unbroken(fmt::format("{} to {}", count_text(interval.low), count_text(interval.high)));
}

std::string best_table(const StudyAnswer& answer) {
  HtmlTable table({"minibatch", "steps", "95 %", "fitted", "residual", "samples", "efficiency", "region", "best rate",
                   "linear", "square root", "diverged from", "runs"});
  for (size_t i = 0; i < answer.best.size(); ++i) {
    const BestResult& one = answer.best[i];
    const ScalingFit* fit = answer.fit ? &answer.fit->answer : nullptr;
    const std::optional<ScalingRegion> region = answer.region_of(one);
    table.row({fmt::to_string(one.minibatch), count_text(one.steps), one.interval ? interval_cell(*one.interval) : "-",
               fit ? count_text(fit->steps_at(static_cast<double>(one.minibatch))) : "-",
               fit ? unbroken(fmt::format("{:+.1f} %", 100 * fit->residuals[i])) : "-", count_text(one.samples),
               unbroken(fmt::format("{:.0f} %", 100 * one.efficiency)), region ? unbroken(text_of(*region)) : "-",
               (one.is_greatest ? "&ge;&nbsp;"
                : one.is_least  ? "&le;&nbsp;"
                                : "") +
                   number_or_dash(one.best.rate),
               number_or_dash(one.linear_rate), number_or_dash(one.square_root_rate), number_or_dash(one.diverged_from),
               unbroken(fmt::format("{} of {}", one.best.steps.size(), one.best.runs))});
  }
  for (const MissedResult& one : answer.missed) {
    std::vector<HtmlCell> cells(13, "-");
    cells.front() = fmt::to_string(one.minibatch);
    if (one.least_steps) cells[1] = "&ge;&nbsp;" + count_text(*one.least_steps);
    cells.back() = unbroken(fmt::format("{} of {}", one.reached, one.runs));
    table.row(cells);
  }
  return table.str();
}

std::string fit_table_of_page(const StudyAnswer& answer) {
  if (!answer.fit) return "";
  const CriticalBatch& fit = *answer.fit;
  std::vector<std::string> heads = {law_text(fit), fit.of_one ? "k free, 95 %" : level_text(fit.answer)};
  if (fit.of_one) heads.push_back("k = 1, 95 %");
  HtmlTable table(heads);
  for (const FitRow& row : fit_rows(fit)) {
    std::vector<HtmlCell> cells = {row.name, unbroken(xml_text(row.answer))};
    if (fit.of_one) cells.push_back(unbroken(xml_text(row.of_one)));
    table.row(cells);
  }
  return table.str();
}

std::string cost_section(const StudyAnswer& answer) {
  if (!answer.cluster) return "";
  HtmlTable table({"workers", "minibatch", "steps", "samples", "step, ms", "time", "worker hours"});
  for (const TargetCost& row : answer.cluster->rows)
    table.row({fmt::to_string(row.at.workers), count_text(row.at.minibatch) + (row.is_measured ? "" : "*"),
               count_text(row.steps), count_text(row.samples), fmt::format("{:.3g}", 1e3 * row.at.step),
               unbroken(duration_text(row.seconds)), fmt::format("{:.3g}", row.at.workers * row.seconds / 3600)});
  HtmlTable trials({"workers", "trials an hour, one after another on all", "side by side, one worker each",
                    "one trial ends sooner", "trials side by side are more"});
  for (const TrialRates& row : trial_rates(*answer.cluster))
    trials.row({fmt::to_string(row.workers), rate_text(row.one_by_one), rate_text(row.side_by_side),
                rate_text(row.sooner()) + "x", rate_text(row.more()) + "x"});
  return fmt::format("<h2>On a cluster</h2>\n<p>{}, {}. {}</p>\n{}<p>{}</p>\n{}", xml_text(answer.cluster->title),
                     xml_text(answer.cluster->nodes), xml_text(cost_sentence(*answer.cluster)), table.str(),
                     xml_text(trials_sentence(*answer.cluster)), trials.str());
}

}  // namespace

std::string head_table(const StudyHead& head) {
  if (head.rows.empty()) return "";
  HtmlTable table({"what was studied", ""});
  for (const auto& [name, value] : head.rows) table.row({xml_text(name), xml_text(value)});
  return table.str() + notes_html(head.notes);
}

std::string sentences_html(const std::vector<std::string>& sentences) {
  std::string html;
  for (const std::string& sentence : sentences) html += xml_text(sentence) + " ";
  return "<p>" + html + "</p>\n";
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes) html += fmt::format("<p>NOTE: {}</p>\n", xml_text(note));
  return html;
}

std::string figures_html(const std::vector<AnswerFigure>& figures) {
  std::string html;
  for (const AnswerFigure& figure : figures) html += "<figure>\n" + figure.svg + "</figure>\n";
  return "<div class=\"charts\">\n" + html + "</div>\n";
}

std::string answer_page(const StudyAnswer& answer, const AnswerSource& source,
                        const std::vector<AnswerFigure>& figures) {
  return html_page(
      "Steps to the target against the minibatch: " + std::filesystem::path(source.file).filename().string(),
      fmt::format("<p><code>{}</code></p>\n{}{}{}{}<h2>Minibatches at their best rate</h2>\n{}{}",
                  xml_text(source.command), head_table(source.head), fit_table_of_page(answer),
                  sentences_html(answer_sentences(answer)), figures_html(figures), best_table(answer),
                  cost_section(answer)));
}

}  // namespace kb
