#include "recipes/answer/targets_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "recipes/answer/answer_files.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/csv.h"
#include "recipes/answer/targets_text.h"
#include "recipes/report/count_text.h"
#include "recipes/report/html_page.h"
#include "recipes/report/scatter_chart.h"

namespace kb {
namespace {

constexpr Estimate kUnknown{0, {0, std::numeric_limits<double>::infinity()}};

void add_estimate(std::vector<CsvField>& fields, const Estimate& estimate) {
  const auto add = [&](bool is_known, double value) { fields.push_back(is_known ? CsvField(value) : ""); };
  add(estimate.is_told(), estimate.value);
  add(estimate.interval.has_low(), estimate.interval.low);
  add(estimate.interval.has_high(), estimate.interval.high);
}

Json tokens_json(const TargetAnswer& one, const std::optional<int64_t>& context) {
  if (!one.fit() || !context) return nullptr;
  Json json = Json::object();
  for (const TargetColumn& column : kTargetColumns)
    if (column.in_samples) json[column.key] = estimate_json(in_tokens(one.fit()->*column.estimate, *context));
  return json;
}

Json noise_json(const TargetAnswer& one) {
  if (!one.noise) return nullptr;
  return {{"median", one.noise->median},
          {"least", one.noise->least},
          {"greatest", one.noise->greatest},
          {"runs", one.noise->runs}};
}

Json target_json(const TargetAnswer& one, const std::optional<int64_t>& context) {
  return {{"target", one.target.text()},
          {"value", one.target.value},
          {"minibatches", one.minibatches()},
          {"minibatches_reached", one.minibatches_reached()},
          {"runs", one.runs.size()},
          {"runs_reached", one.runs_reached},
          {"in_tokens", tokens_json(one, context)},
          {"noise_scale_samples", noise_json(one)},
          {"answer", one.answer ? answer_members(*one.answer) : Json(nullptr)}};
}

Json critical_law_json(const TargetsAnswer& answer) {
  const std::optional<PowerLaw> law = answer.law();
  if (!law) return nullptr;
  Json json = {{"law", "B_crit = B* / L^(1 / alpha)"},
               {"b_star_samples", law->factor},
               {"exponent", law->exponent},
               {"targets", answer.enclosed().size()}};
  json["alpha"] = law->exponent < 0 ? Json(-1 / law->exponent) : Json(nullptr);
  if (answer.context) json["b_star_tokens"] = law->factor * static_cast<double>(*answer.context);
  return json;
}

// Returns a figure of B_crit against the targets; "" if no interval of it has both ends, or a target is not above 0.
std::string critical_figure(const TargetsAnswer& answer) {
  std::vector<double> values;
  CurveRange range;
  for (const TargetAnswer* one : answer.enclosed()) {
    const ConfidenceInterval& interval = one->fit()->b_crit.interval;
    if (one->target.value <= 0) return "";
    values.push_back(one->target.value);
    range.take(interval.low), range.take(interval.high);
  }
  if (values.empty()) return "";
  std::sort(values.begin(), values.end());
  const Svg::Stroke fit{.color = kFirstColor, .width = 2};
  ScatterFigure figure("The critical minibatch against the target", axis_at(values), logarithmic_values(range));
  figure.legend = {{"fitted, 95 %", {.color = kSecondColor}, ChartMark::dot}};
  figure.chart.draw_axes({answer.own.metric, "B_crit, samples"});
  if (const std::optional<PowerLaw> law = answer.law()) {
    figure.chart.curve([&](double value) { return law->at(value); }, fit);
    figure.legend.push_back({"B* / L^(1 / alpha)", fit});
  }
  for (const TargetAnswer* one : answer.enclosed()) {
    const Estimate& b_crit = one->fit()->b_crit;
    figure.chart.whisker(one->target.value, b_crit.interval.low, b_crit.interval.high, kSecondColor);
    figure.chart.dot(one->target.value, b_crit.value, kSecondColor,
                     fmt::format("{}: B_crit {}", one->target.text(), estimate_text(b_crit)));
  }
  return figure.str();
}

std::string target_fits_table(const TargetsAnswer& answer) {
  std::vector<std::string> heads = {"target", "minibatches that reach it", "runs that reach it"};
  for (const TargetColumn& column : kTargetColumns) heads.emplace_back(column.name);
  if (answer.has_noise()) heads.insert(heads.begin() + 3, {"noise scale, samples", "B_crit over it"});
  if (answer.context) heads.insert(heads.end(), {"E_min, tokens", "B_crit, tokens"});
  HtmlTable table(heads);
  for (const TargetAnswer& one : answer.targets) {
    std::vector<HtmlCell> cells = {xml_text(one.target.text()),
                                   fmt::format("{} of {}", one.minibatches_reached(), one.minibatches()),
                                   fmt::format("{} of {}", one.runs_reached, one.runs.size())};
    if (answer.has_noise()) cells.insert(cells.end(), {xml_text(noise_text(one)), xml_text(critical_over_noise(one))});
    const auto add = [&](const Estimate& estimate) { cells.emplace_back(xml_text(estimate_text(estimate))); };
    for (const TargetColumn& column : kTargetColumns)
      if (one.fit()) add(one.fit()->*column.estimate);
    if (one.fit() && answer.context)
      for (const auto estimate : {&ScalingFit::e_min, &ScalingFit::b_crit})
        add(in_tokens(one.fit()->*estimate, *answer.context));
    cells.resize(heads.size(), "-");
    table.row(cells);
  }
  return table.str();
}

std::string target_steps_table(const TargetsAnswer& answer) {
  HtmlTable table({"target", "minibatch", "steps", "95 %", "samples", "best rate", "setting", "runs"});
  for (const TargetAnswer& one : answer.targets) {
    if (!one.answer) continue;
    for (const BestResult& best : one.answer->best)
      table.row({xml_text(one.target.text()), fmt::to_string(best.minibatch), count_text(best.steps),
                 best.interval
                     ? fmt::format("{} to {}", count_text(best.interval->low), count_text(best.interval->high))
                     : "-",
                 count_text(best.samples), number_or_dash(best.best.rate), xml_text(best.best.setting),
                 fmt::format("{} of {}", best.best.steps.size(), best.best.runs)});
  }
  return table.str();
}

}  // namespace

std::vector<NamedStudy> studies_of(const TargetsAnswer& answer) {
  std::vector<NamedStudy> studies;
  for (const TargetAnswer& one : answer.targets)
    if (one.answer) studies.push_back({one.target.text(), *one.answer, answer.head, effort_of(one.runs)});
  return studies;
}

std::string targets_csv(const TargetsAnswer& answer) {
  std::string csv = "target,value,minibatches,minibatches_reached,runs,runs_reached";
  for (const TargetColumn& column : kTargetColumns) csv += fmt::format(",{0},{0}_low,{0}_high", column.key);
  csv += ",intervals,noise_scale,noise_scale_least,noise_scale_greatest,tokens_per_sample\n";
  for (const TargetAnswer& one : answer.targets) {
    std::vector<CsvField> fields = {one.target.text(),         one.target.value, one.minibatches(),
                                    one.minibatches_reached(), one.runs.size(),  one.runs_reached};
    for (const TargetColumn& column : kTargetColumns)
      add_estimate(fields, one.fit() ? one.fit()->*column.estimate : kUnknown);
    fields.emplace_back(one.fit() ? level_text(*one.fit()) : "");
    std::optional<double> median, least, greatest;
    if (one.noise) median = one.noise->median, least = one.noise->least, greatest = one.noise->greatest;
    fields.insert(fields.end(), {median, least, greatest, answer.context});
    csv += csv_line(fields);
  }
  return csv;
}

std::string targets_steps_csv(const TargetsAnswer& answer) {
  std::string csv;
  for (const TargetAnswer& one : answer.targets) {
    if (!one.answer) continue;
    std::istringstream lines(answer_csv(*one.answer));
    std::string line;
    std::getline(lines, line);
    if (csv.empty()) csv = "target," + line + "\n";
    while (std::getline(lines, line)) csv += CsvField(one.target.text()).text + "," + line + "\n";
  }
  return csv;
}

std::string targets_json(const TargetsAnswer& answer, const std::string& command) {
  Json json = {{"command", command},
               {"source", answer.name},
               {"study", head_json(answer.head)},
               {"own_target", answer.own.text()},
               {"tokens_per_sample", answer.context},
               {"b_crit_grows", text_of(answer.growth())},
               {"b_crit_over_loss", critical_law_json(answer)},
               {"targets", Json::array()}};
  for (const TargetAnswer& one : answer.targets) json["targets"].push_back(target_json(one, answer.context));
  return json.dump(2) + "\n";
}

std::vector<AnswerFigure> targets_figures(const TargetsAnswer& answer) {
  const std::vector<NamedStudy> studies = studies_of(answer);
  if (studies.empty()) return {};
  std::vector<AnswerFigure> figures = side_by_side_figures(studies);
  for (AnswerFigure& figure : figures) figure.name = "targets_" + figure.name;
  if (std::string critical = critical_figure(answer); !critical.empty())
    figures.push_back({"targets_critical", std::move(critical)});
  return figures;
}

std::string targets_page(const TargetsAnswer& answer, const std::string& command,
                         const std::vector<AnswerFigure>& figures) {
  return html_page(
      "The critical minibatch at several targets: " + answer.name,
      fmt::format("<p><code>{}</code></p>\n{}{}{}{}{}<h2>Minibatches at their best rate</h2>\n{}", xml_text(command),
                  head_table(answer.head), notes_html(target_notes(answer)), target_fits_table(answer),
                  sentences_html(targets_sentences(answer)), figures_html(figures), target_steps_table(answer)));
}

}  // namespace kb
