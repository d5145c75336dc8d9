#include "recipes/answer/branches_files.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/answer/answer_files.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/branches_text.h"
#include "recipes/answer/csv.h"
#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr double kMeanShare = 0.25;  // of the window, whose mean loss stands in the table

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

// Returns the branch's loss by another smoothing than the one asked for; nothing if the branch diverged or lacks it.
std::optional<double> loss_by(const SmoothedBranch& branch, LossSmoothing::Kind kind) {
  const BranchRun& run = branch.run;
  if (run.diverged) return std::nullopt;
  if (kind == LossSmoothing::Kind::held_out) return run.held_out;
  if (kind == LossSmoothing::Kind::ema) return moving_average(run.losses, kLocalSmoothing).value;
  const double count = std::max(1.0, std::round(kMeanShare * static_cast<double>(run.losses.size())));
  double sum = 0;
  for (size_t i = run.losses.size() - static_cast<size_t>(count); i < run.losses.size(); ++i) sum += run.losses[i];
  return sum / count;
}

std::string branch_line(const BranchesAnswer& answer, const PlaceAnswer& one, const SmoothedBranch& branch) {
  const BranchRun& run = branch.run;
  const std::optional<int64_t> tokens =
      answer.context ? std::optional(one.place.samples * *answer.context) : std::nullopt;
  const std::optional<NoiseScale>& noise = one.branches.front().run.noise;
  std::optional<double> scale, low, high;
  if (noise) scale = finite(noise->samples), low = noise->low, high = noise->high;
  return csv_line({one.place.step,
                   one.place.samples,
                   tokens,
                   run.factor,
                   run.minibatch,
                   one.place.steps_of(run.factor),
                   finite(run.rate),
                   finite(branch.loss),
                   finite(branch.difference.value),
                   branch.difference.error,
                   branch.holds,
                   run.diverged,
                   loss_by(branch, LossSmoothing::Kind::ema),
                   loss_by(branch, LossSmoothing::Kind::mean),
                   loss_by(branch, LossSmoothing::Kind::held_out),
                   one.low(),
                   one.high(),
                   scale,
                   low,
                   high});
}

Json branch_json(const SmoothedBranch& branch) {
  return {{"k", branch.run.factor},
          {"minibatch", branch.run.minibatch},
          {"rate", branch.run.rate},
          {"diverged", branch.run.diverged},
          {"holds", branch.holds},
          {"loss", branch.loss},
          {"difference", branch.difference.value},
          {"error", branch.difference.error},
          {"part", branch.run.part},
          {"loss_held_out", branch.run.held_out},
          {"losses", branch.run.losses}};
}

Json local_noise_json(const PlaceAnswer& one) {
  const std::optional<NoiseScale>& noise = one.branches.front().run.noise;
  if (!noise) return nullptr;
  return {{"samples", noise->samples}, {"low", noise->low}, {"high", noise->high}};
}

Json place_json(const PlaceAnswer& one) {
  Json json = {{"step", one.place.step},
               {"samples", one.place.samples},
               {"minibatch", one.place.minibatch},
               {"window_samples", one.place.window},
               {"checkpoint", one.place.checkpoint},
               {"b_local", {{"low", one.low()}, {"high", one.high()}}},
               {"is_monotone", one.critical ? Json(one.critical->is_monotone) : Json(nullptr)},
               {"noise_scale", local_noise_json(one)},
               {"branches", Json::array()}};
  for (const SmoothedBranch& branch : one.branches) json["branches"].push_back(branch_json(branch));
  return json;
}

std::string places_of_page(const BranchesAnswer& answer) {
  HtmlTable table({"place, steps", "samples seen", "minibatch", "B_local, samples", "noise scale, 95 %, samples"});
  for (const PlaceAnswer& one : answer.places)
    table.row({fmt::to_string(one.place.step), fmt::to_string(one.place.samples), fmt::to_string(one.place.minibatch),
               one.text(), noise_text(one)});
  return table.str();
}

std::string branches_of_page(const BranchesAnswer& answer) {
  HtmlTable table({"place, steps", "k", "minibatch", "steps", "learning rate", "loss", "less that of k = 1", "error",
                   "held out", ""});
  const auto cell = [](const std::optional<double>& value, const char* form) {
    return value && std::isfinite(*value) ? fmt::format(fmt::runtime(form), *value) : std::string("-");
  };
  for (const PlaceAnswer& one : answer.places)
    for (const SmoothedBranch& branch : one.branches)
      table.row({fmt::to_string(one.place.step), fmt::to_string(branch.run.factor),
                 fmt::to_string(branch.run.minibatch), fmt::to_string(one.place.steps_of(branch.run.factor)),
                 cell(branch.run.rate, "{:.4g}"), cell(branch.loss, "{:.4f}"), cell(branch.difference.value, "{:+.4f}"),
                 cell(branch.difference.error, "{:.4f}"), cell(branch.run.held_out, "{:.4f}"),
                 branch.run.diverged ? "diverged"
                 : branch.holds      ? ""
                                     : "lost"});
  return table.str();
}

}  // namespace

std::string branches_csv(const BranchesAnswer& answer) {
  std::string csv =
      "place,samples,tokens,k,minibatch,steps,rate,loss,difference,error,holds,diverged,loss_ema,loss_mean,"
      "loss_held_out,b_local_low,b_local_high,noise_scale,noise_scale_low,noise_scale_high\n";
  for (const PlaceAnswer& one : answer.places)
    for (const SmoothedBranch& branch : one.branches) csv += branch_line(answer, one, branch);
  return csv;
}

std::string branches_json(const BranchesAnswer& answer, const std::string& command) {
  Json json = {{"command", command},
               {"study", head_json(answer.head)},
               {"loss", answer.smoothing.text()},
               {"tolerance", answer.tolerance},
               {"tokens_per_sample", answer.context},
               {"notes", branches_notes(answer)},
               {"places", Json::array()},
               {"warmup",
                {{"minibatch_schedule", growths_text(answer.warmup)},
                 {"command", answer.command},
                 {"steps_saved", answer.steps_saved}}}};
  for (const PlaceAnswer& one : answer.places) json["places"].push_back(place_json(one));
  return json.dump(2) + "\n";
}

std::string branches_page(const BranchesAnswer& answer, const std::string& command,
                          const std::vector<AnswerFigure>& figures) {
  const std::string train =
      answer.command.empty() ? "" : fmt::format("<p><code>{}</code></p>\n", xml_text(answer.command));
  return html_page(
      "The local critical minibatch of " + std::filesystem::path(answer.run).filename().string(),
      fmt::format("<p><code>{}</code></p>\n{}{}{}{}{}{}<h2>Branches</h2>\n{}", xml_text(command),
                  head_table(answer.head), notes_html(branches_notes(answer)), places_of_page(answer),
                  sentences_html(branches_sentences(answer)), train, figures_html(figures), branches_of_page(answer)));
}

}  // namespace kb
