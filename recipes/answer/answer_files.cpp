#include "recipes/answer/answer_files.h"

#include <fmt/format.h>

#include "recipes/answer/csv.h"
#include "runtime/json.h"

namespace kb {
namespace {

Json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.interval.low}, {"high", estimate.interval.high}};
}

const char* bound_word(const CriticalBatch& fit) {
  if (fit.b_crit_is_lower_bound) return fit.b_crit_is_upper_bound ? "unknown" : "lower";
  return fit.b_crit_is_upper_bound ? "upper" : "none";
}

Json fit_json(const StudyAnswer& answer) {
  if (!answer.fit) return {{"missing", answer.no_fit}};
  const CriticalBatch& fit = *answer.fit;
  return {{"law", "S(B) = S_min (1 + B_crit / B), least squares of log S"},
          {"s_min", estimate_json(fit.s_min)},
          {"b_crit", estimate_json(fit.b_crit)},
          {"b_crit_is_bound", bound_word(fit)},
          {"e_min", estimate_json(fit.e_min)},
          {"rms_residual", fit.rms}};
}

Json line_json(const StudyAnswer& answer) {
  if (!answer.line) return {{"missing", answer.no_fit}};
  return {{"law", "E(B) = E_min + S_min B, least squares of E"},
          {"s_min", answer.line->s_min},
          {"b_crit", answer.line->b_crit()},
          {"e_min", answer.line->e_min}};
}

Json regions_json(const StudyAnswer& answer) {
  const ScalingRegions& regions = answer.regions;
  return {{"base_minibatch", answer.base().minibatch},
          {"perfect_scaling_ends", answer.best[regions.perfect_end].minibatch},
          {"perfect_excess", kPerfectExcess},
          {"largest_useful", answer.fit ? Json(kUsefulInCritical * answer.fit->b_crit.value) : Json(nullptr)},
          {"useful_saving", kUsefulSaving},
          {"slopes", regions.slopes}};
}

Json rate_json(const RateResult& one) {
  return {{"rate", one.rate},         {"setting", one.setting}, {"runs", one.runs},
          {"diverged", one.diverged}, {"steps", one.steps},     {"seconds", one.seconds}};
}

Json best_json(const StudyAnswer& answer, size_t i) {
  const BestResult& one = answer.best[i];
  Json json = {{"rate", one.best.rate},
               {"setting", one.best.setting},
               {"rate_is_bound", one.is_greatest ? "lower"
                                 : one.is_least  ? "upper"
                                                 : "none"},
               {"linear_rate", one.linear_rate},
               {"sqrt_rate", one.square_root_rate},
               {"diverged_from", one.diverged_from},
               {"steps", one.steps},
               {"steps_low", one.interval ? Json(one.interval->low) : Json(nullptr)},
               {"steps_high", one.interval ? Json(one.interval->high) : Json(nullptr)},
               {"samples", one.samples},
               {"efficiency", one.efficiency},
               {"region", text_of(answer.regions.regions[i])}};
  if (answer.fit) {
    json["fitted_steps"] = answer.fit->steps_at(static_cast<double>(one.minibatch));
    json["residual"] = answer.fit->residuals[i];
  }
  return json;
}

Json cluster_json(const ClusterCost& cost) {
  Json rows = Json::array();
  for (const TargetCost& row : cost.rows)
    rows.push_back({{"workers", row.at.workers},
                    {"minibatch", row.at.minibatch},
                    {"steps", row.steps},
                    {"samples", row.samples},
                    {"step_s", row.at.step},
                    {"seconds", row.seconds},
                    {"is_measured", row.is_measured}});
  return {{"forecast", cost.title}, {"nodes", cost.nodes}, {"rows", std::move(rows)}};
}

Json minibatches_json(const StudyAnswer& answer) {
  Json list = Json::array();
  size_t place = 0;  // of the next one in `best`
  for (const MinibatchResults& at : answer.all) {
    Json entry = {{"minibatch", at.minibatch}, {"best", nullptr}, {"rates", Json::array()}};
    if (place < answer.best.size() && answer.best[place].minibatch == at.minibatch)
      entry["best"] = best_json(answer, place++);
    for (const RateResult& one : at.rates) entry["rates"].push_back(rate_json(one));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string answer_csv(const StudyAnswer& answer) {
  std::string csv =
      "minibatch,rate,setting,steps,steps_low,steps_high,samples,efficiency,region,fitted_steps,residual,linear_rate,"
      "sqrt_rate,"
      "diverged_from,runs,runs_reached,seconds\n";
  for (size_t i = 0; i < answer.best.size(); ++i) {
    const BestResult& one = answer.best[i];
    const auto minibatch = static_cast<double>(one.minibatch);
    std::optional<double> low, high, fitted, residual;
    if (one.interval) low = one.interval->low, high = one.interval->high;
    if (answer.fit) fitted = answer.fit->steps_at(minibatch), residual = answer.fit->residuals[i];
    csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", one.minibatch, csv_field(one.best.rate),
                    csv_field(one.best.setting), csv_field(one.steps), csv_field(low), csv_field(high),
                    csv_field(one.samples), csv_field(one.efficiency), text_of(answer.regions.regions[i]),
                    csv_field(fitted), csv_field(residual), csv_field(one.linear_rate), csv_field(one.square_root_rate),
                    csv_field(one.diverged_from), one.best.runs, one.best.steps.size(), csv_field(one.best.seconds));
  }
  return csv;
}

std::string answer_json(const StudyAnswer& answer, const AnswerSource& source) {
  return Json({{"command", source.command},
               {"source", source.file},
               {"resamples", source.resamples},
               {"fit", fit_json(answer)},
               {"line", line_json(answer)},
               {"regions", regions_json(answer)},
               {"not_reached", answer.not_reached},
               {"cluster", answer.cluster ? cluster_json(*answer.cluster) : Json(nullptr)},
               {"minibatches", minibatches_json(answer)}})
             .dump(2) +
         "\n";
}

}  // namespace kb
