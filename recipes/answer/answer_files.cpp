#include "recipes/answer/answer_files.h"

#include <fmt/format.h>

#include "recipes/answer/answer_text.h"
#include "recipes/answer/csv.h"
#include "recipes/answer/target_cost.h"

namespace kb {
namespace {

Json fit_json(const ScalingFit& fit) {
  return {{"k", fit.k ? estimate_json(*fit.k) : Json({{"value", 1}})},
          {"s_min", estimate_json(fit.s_min)},
          {"b_crit", estimate_json(fit.b_crit)},
          {"e_min", estimate_json(fit.e_min)},
          {"perfect_scaling_ends", estimate_json(fit.perfect_end)},
          {"gain_ends", estimate_json(fit.gain_end)},
          {"intervals", level_text(fit)},
          {"rms_residual", fit.rms}};
}

Json answer_fit_json(const StudyAnswer& answer) {
  if (!answer.fit) return {{"missing", answer.no_fit}};
  Json json = fit_json(answer.fit->answer);
  json["law"] = law_text(*answer.fit) + ", least squares of log S, intervals by profile likelihood";
  return json;
}

Json test_json(const StudyAnswer& answer) {
  if (answer.fit && answer.fit->of_one && !answer.fit->test)
    return {{"missing", "B_crit of the fit with k = 1 lies where the search ends"}};
  if (!answer.fit || !answer.fit->test)
    return {{"missing", fmt::format("a fit with k free takes {} minibatches or more", kLeastOfFreeBend)}};
  const LawTest& test = *answer.fit->test;
  return {{"law", "k = 1"}, {"f", test.f}, {"degrees", test.degrees}, {"p", test.p}, {"rejected", test.rejects()}};
}

Json line_json(const StudyAnswer& answer) {
  if (!answer.line) return {{"missing", answer.no_fit}};
  return {{"law", "E(B) = E_min + S_min B, least squares of E"},
          {"s_min", answer.line->s_min},
          {"b_crit", answer.line->b_crit()},
          {"e_min", answer.line->e_min}};
}

Json noise_json(const StudyAnswer& answer) {
  if (!answer.noise) return nullptr;
  const TargetNoise& noise = *answer.noise;
  return {{"target", noise.target.text()},
          {"samples", noise.samples},
          {"deviation", noise.deviation},
          {"shift_of_log_steps", noise.shift}};
}

std::string region_name(const StudyAnswer& answer, const BestResult& one) {
  const std::optional<ScalingRegion> region = answer.region_of(one);
  return region ? text_of(*region) : "";
}

Json rate_json(const RateResult& one) {
  return {{"rate", one.rate},         {"setting", one.setting}, {"runs", one.runs},
          {"diverged", one.diverged}, {"steps", one.steps},     {"seconds", one.seconds}};
}

// Returns the result at the best rate of minibatch number i. `band`: 95 % interval of the fitted steps there.
Json best_json(const StudyAnswer& answer, size_t i, const ConfidenceInterval& band) {
  const BestResult& one = answer.best[i];
  Json json = {{"rate", one.best.rate},
               {"setting", one.best.setting},
               {"rate_is_bound", one.is_greatest ? "lower"
                                 : one.is_least  ? "upper"
                                                 : "none"},
               {"rate_interval", one.rate_interval ? interval_json(*one.rate_interval) : Json(nullptr)},
               {"effective_rate", one.effective_rate},
               {"linear_rate", one.linear_rate},
               {"sqrt_rate", one.square_root_rate},
               {"diverged_from", one.diverged_from},
               {"steps", one.steps},
               {"steps_low", one.interval ? Json(one.interval->low) : Json(nullptr)},
               {"steps_high", one.interval ? Json(one.interval->high) : Json(nullptr)},
               {"samples", one.samples},
               {"efficiency", one.efficiency},
               {"region", region_name(answer, one)},
               {"fitted_band", answer.fit ? interval_json(band) : Json(nullptr)}};
  if (answer.fit) {
    json["fitted_steps"] = answer.fit->answer.steps_at(static_cast<double>(one.minibatch));
    json["residual"] = answer.fit->answer.residuals[i];
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
  Json trials = Json::array();
  for (const TrialRates& row : trial_rates(cost))
    trials.push_back({{"workers", row.workers},
                      {"one_by_one_per_hour", row.one_by_one},
                      {"side_by_side_per_hour", row.side_by_side},
                      {"times_sooner", row.sooner()},
                      {"times_more", row.more()}});
  return {{"forecast", cost.title},
          {"nodes", cost.nodes},
          {"policy", cost.policy},
          {"rows", std::move(rows)},
          {"trials", std::move(trials)}};
}

Json minibatches_json(const StudyAnswer& answer) {
  Json list = Json::array();
  std::vector<double> at_best;
  for (const BestResult& one : answer.best) at_best.push_back(static_cast<double>(one.minibatch));
  std::vector<ConfidenceInterval> bands(at_best.size());
  if (answer.fit) bands = steps_band(answer.measured.means, at_best);
  size_t place = 0;  // index of the next minibatch in `best`
  for (const MinibatchResults& at : answer.all) {
    Json entry = {{"minibatch", at.minibatch}, {"best", nullptr}, {"rates", Json::array()}};
    if (place < answer.best.size() && answer.best[place].minibatch == at.minibatch) {
      entry["best"] = best_json(answer, place, bands[place]);
      ++place;
    }
    for (const RateResult& one : at.rates) entry["rates"].push_back(rate_json(one));
    list.push_back(std::move(entry));
  }
  return list;
}

Json ranges_json(const StudyAnswer& answer) {
  Json list = Json::array();
  for (const SlopeOfSteps& slope : answer.slopes_of_ranges)
    list.push_back({{"first", slope.first},
                    {"last", slope.last},
                    {"minibatches", slope.minibatches},
                    {"slope", slope.slope},
                    {"standard_error", slope.standard_error}});
  return list;
}

Json missed_json(const StudyAnswer& answer) {
  Json list = Json::array();
  for (const MissedResult& one : answer.missed)
    list.push_back({{"minibatch", one.minibatch},
                    {"runs", one.runs},
                    {"diverged", one.diverged},
                    {"reached", one.reached},
                    {"fewest_steps_reached", one.fewest_steps},
                    {"most_steps_reached", one.most_steps},
                    {"least_steps", one.least_steps}});
  return list;
}

Json contradicted_json(const StudyAnswer& answer) {
  Json list = Json::array();
  for (const Contradiction& one : answer.contradicted)
    list.push_back(
        {{"minibatch", one.least.minibatch}, {"least_steps", one.least.steps}, {"fitted_steps", one.fitted}});
  return list;
}

}  // namespace

std::string answer_csv(const StudyAnswer& answer) {
  std::string csv =
      "minibatch,rate,setting,steps,steps_low,steps_high,samples,efficiency,region,fitted_steps,residual,linear_rate,"
      "sqrt_rate,diverged_from,runs,runs_reached,seconds\n";
  for (size_t i = 0; i < answer.best.size(); ++i) {
    const BestResult& one = answer.best[i];
    const auto minibatch = static_cast<double>(one.minibatch);
    std::optional<double> low, high, fitted, residual;
    if (one.interval) low = one.interval->low, high = one.interval->high;
    if (answer.fit) fitted = answer.fit->answer.steps_at(minibatch), residual = answer.fit->answer.residuals[i];
    csv += csv_line({one.minibatch, one.best.rate, one.best.setting, one.steps, low, high, one.samples, one.efficiency,
                     region_name(answer, one), fitted, residual, one.linear_rate, one.square_root_rate,
                     one.diverged_from, one.best.runs, one.best.steps.size(), one.best.seconds});
  }
  for (const MissedResult& one : answer.missed) {  // a lower bound of its steps alone is known
    std::optional<double> fitted;
    if (answer.fit) fitted = answer.fit->answer.steps_at(static_cast<double>(one.minibatch));
    csv += csv_line({one.minibatch, "", "", "", one.least_steps, "", "", "", "", fitted, "", "", "", "", one.runs,
                     one.reached, ""});
  }
  return csv;
}

Json head_json(const StudyHead& head) {
  if (head.rows.empty()) return nullptr;
  Json json;
  for (const auto& [name, value] : head.rows) json[name] = value;
  json["notes"] = head.notes;
  return json;
}

Json answer_members(const StudyAnswer& answer) {
  return {{"fit", answer_fit_json(answer)},
          {"fit_with_k_1", answer.fit && answer.fit->of_one ? fit_json(*answer.fit->of_one) : Json(nullptr)},
          {"law_test", test_json(answer)},
          {"target_noise", noise_json(answer)},
          {"line", line_json(answer)},
          {"base_minibatch", answer.base_result().minibatch},
          {"perfect_excess", kPerfectExcess},
          {"gain_excess", kGainExcess},
          {"slopes", answer.slopes},
          {"slopes_of_ranges", ranges_json(answer)},
          {"not_reached", missed_json(answer)},
          {"contradicts_the_fit", contradicted_json(answer)},
          {"notes", answer_notes(answer)},
          {"cluster", answer.cluster ? cluster_json(*answer.cluster) : Json(nullptr)},
          {"minibatches", minibatches_json(answer)}};
}

std::string answer_json(const StudyAnswer& answer, const AnswerSource& source) {
  Json json = {{"command", source.command}, {"source", source.file}, {"study", head_json(source.head)}};
  const Json whole = answer_members(answer);
  for (const auto& [name, value] : whole.members()) json[name] = value;
  return json.dump(2) + "\n";
}

Json interval_json(const ConfidenceInterval& interval) {
  return {{"low", interval.has_low() ? Json(interval.low) : Json(nullptr)},
          {"high", interval.has_high() ? Json(interval.high) : Json(nullptr)}};
}

Json estimate_json(const Estimate& estimate) {
  Json json = interval_json(estimate.interval);
  json["value"] = estimate.is_told() ? Json(estimate.value) : Json(nullptr);
  return json;
}

}  // namespace kb
