#include "recipes/answer/side_by_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "graph/error.h"
#include "optim/law_comparison.h"
#include "recipes/answer/answer_files.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/policy_claims.h"
#include "recipes/answer/policy_costs.h"
#include "recipes/report/count_text.h"
#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

// A figure of the fits that is compared: its name, its key in JSON, and its member.
struct ComparedFigure {
  const char *name, *key;
  Estimate ScalingFit::*estimate;
};
constexpr ComparedFigure kCompared[] = {{"S_min, steps", "s_min", &ScalingFit::s_min},
                                        {"B_crit, samples", "b_crit", &ScalingFit::b_crit},
                                        {"E_min, samples", "e_min", &ScalingFit::e_min},
                                        {"largest useful", "gain_ends", &ScalingFit::gain_end}};

constexpr const char* kCostWords =
    "Virtual time is that of the order of gradients until the target, at the best rate of each minibatch. A process "
    "sends bytes until the target as one of as many as there are workers; what it receives is not counted.";

// Returns the log of the factor between the rates that were tried around the best one, the mean of both sides; 0 if it
// is the only one.
double spacing_of(const StudyAnswer& answer, const BestResult& one) {
  std::set<double> tried;
  for (const MinibatchResults& at : answer.all)
    for (const RateResult& rate : at.rates)
      if (at.minibatch == one.minibatch && rate.rate) tried.insert(*rate.rate);
  const auto here = tried.find(*one.best.rate);
  const double low = here == tried.begin() ? *here : *std::prev(here),
               high = std::next(here) == tried.end() ? *here : *std::next(here);
  return std::log(high / low) / (low < *here && *here < high ? 2 : 1);
}

std::optional<RateLaw> rate_law_of(const StudyAnswer& answer) {
  std::vector<BestRateAt> best;
  for (const BestResult& one : answer.best) {
    if (!one.best.rate) continue;
    best.push_back(
        {static_cast<double>(one.minibatch), one.effective_rate.value_or(*one.best.rate), spacing_of(answer, one)});
  }
  return fit_rate_law(best);
}

std::string rate_law_text(const StudyAnswer& answer) {
  const std::optional<RateLaw> law = rate_law_of(answer);
  if (!law) return "not told by these rates";
  return fmt::format("eta_max {:.3g} {}, B_n {} {}", law->eta_max.value, ends_text(law->eta_max.interval),
                     count_text(law->noise_batch.value, 3), ends_text(law->noise_batch.interval));
}

// Returns "1.32 [1.1, 1.6]"; "unknown" if both ends are open.
std::string ratio_text(const Estimate& ratio) {
  return ratio.is_told() ? fmt::format("{:.3g} {}", ratio.value, ends_text(ratio.interval)) : "unknown";
}

std::string effort_text(const StudyEffort& effort) {
  return fmt::format("{} runs, {} diverged, {} hopeless, {} samples", effort.runs, effort.diverged, effort.hopeless,
                     count_text(effort.samples));
}

// Returns the ratio of a study's figure to the first study's; nothing for the first study itself, or if either has no
// fit.
std::optional<Estimate> ratio_to(const NamedStudy& first, const NamedStudy& study, const ComparedFigure& figure) {
  if (&study == &first || !study.answer.fit || !first.answer.fit) return std::nullopt;
  return ratio_of(study.answer.fit->answer, first.answer.fit->answer, figure.estimate);
}

// Returns at how many rates and settings a minibatch trained without diverging, the median over the minibatches; 0 if
// no rates are known.
int64_t tried_at_minibatch(const StudyAnswer& answer) {
  std::vector<int64_t> counts;
  for (const MinibatchResults& at : answer.all)
    if (at.rates.front().rate)
      counts.push_back(std::ranges::count_if(at.rates, [](const RateResult& one) { return one.diverged < one.runs; }));
  std::ranges::sort(counts);
  return counts.empty() ? 0 : counts[counts.size() / 2];
}

// Returns what the searches of two studies leave open: best rates at an end of those tried, and a search that tried
// fewer, which luck favours less.
std::vector<std::string> search_notes(const NamedStudy& study, const NamedStudy& first) {
  constexpr int64_t kMore = 2;  // a study that tried twice as many is named
  std::vector<std::string> notes;
  std::vector<int64_t> ends;
  for (const BestResult& one : study.answer.best)
    if (one.is_least || one.is_greatest) ends.push_back(one.minibatch);
  if (!ends.empty())
    notes.push_back(
        fmt::format("the best rate at minibatch {} is the least or the greatest that was tried: a better one may lie "
                    "beyond, with fewer steps.",
                    fmt::join(ends, ", ")));
  const int64_t own = tried_at_minibatch(study.answer), other = tried_at_minibatch(first.answer);
  if (own > 0 && other > 0 && std::max(own, other) >= kMore * std::min(own, other))
    notes.push_back(
        fmt::format("{} rates and settings were tried at a minibatch (median), {} by {}: ratios favour the one that "
                    "tried more.",
                    own, other, first.name));
  return notes;
}

std::vector<std::string> all_notes(const NamedStudy& study, const NamedStudy& first) {
  std::vector<std::string> notes = answer_notes(study.answer);
  std::ranges::move(search_notes(study, first), std::back_inserter(notes));
  return notes;
}

bool assumes_k(const NamedStudy& study) { return study.answer.fit && study.answer.fit->answer.assumes_k(); }

// `shows_policy`: whether the policy, virtual times and bytes are told.
std::string study_block(const NamedStudy& study, const NamedStudy& first, bool shows_policy) {
  std::string text = study.name + "\n";
  if (shows_policy) text += wrapped("  policy           ", policies_text(study.answer));
  for (const ComparedFigure& figure : kCompared) {
    if (!study.answer.fit) continue;
    const Estimate& own = study.answer.fit->answer.*figure.estimate;
    const std::optional<Estimate> ratio = ratio_to(first, study, figure);
    text += fmt::format("  {:<16} {:<28} {}\n", figure.name, estimate_text(own), ratio ? ratio_text(*ratio) : "");
  }
  if (assumes_k(study)) text += fmt::format("  {:<16} {}\n", "intervals", level_text(study.answer.fit->answer));
  if (!study.answer.fit) text += wrapped("  no fit: ", study.answer.no_fit);
  for (const std::string& note : all_notes(study, first)) text += wrapped("  NOTE: ", note);
  text += fmt::format("  {:<16} {}\n", "best rates", rate_law_text(study.answer));
  text += wrapped("  effort           ", effort_text(study.effort));
  return shows_policy ? text + costs_text(study.answer) : text;
}

Json study_json(const NamedStudy& study, const NamedStudy& first, bool shows_policy) {
  Json json = {{"name", study.name},
               {"runs", study.effort.runs},
               {"diverged", study.effort.diverged},
               {"hopeless", study.effort.hopeless},
               {"samples", study.effort.samples}};
  if (study.answer.fit)
    for (const ComparedFigure& figure : kCompared) {
      const Estimate& own = study.answer.fit->answer.*figure.estimate;
      json[figure.key] = estimate_json(own);
      json["intervals"] = level_text(study.answer.fit->answer);
      if (const std::optional<Estimate> ratio = ratio_to(first, study, figure))
        json[std::string("ratio_of_") + figure.key] = estimate_json(*ratio);
    }
  if (const std::optional<RateLaw> law = rate_law_of(study.answer))
    json["rate_law"] = {{"eta_max", law->eta_max.value},
                        {"eta_max_interval", interval_json(law->eta_max.interval)},
                        {"noise_batch", law->noise_batch.value},
                        {"noise_batch_interval", interval_json(law->noise_batch.interval)},
                        {"rms", law->rms}};
  if (shows_policy) {
    json["policy"] = policies_text(study.answer);
    json["costs"] = costs_json(study.answer);
  }
  return json;
}

std::string fits_table(const std::vector<NamedStudy>& studies) {
  const NamedStudy& first = studies.front();
  const std::string times = "x " + xml_text(first.name);
  HtmlTable table({"study", "S_min", times, "B_crit", times, "E_min", times, "largest useful minibatch", times,
                   "best rates", "runs", "diverged", "samples spent"});
  for (const NamedStudy& study : studies) {
    std::vector<HtmlCell> cells = {xml_text(study.name + (assumes_k(study) ? " (95 % if k = 1)" : ""))};
    for (const ComparedFigure& figure : kCompared) {
      const std::optional<Estimate> ratio = ratio_to(first, study, figure);
      cells.push_back(study.answer.fit ? xml_text(estimate_text(study.answer.fit->answer.*figure.estimate)) : "-");
      cells.push_back(ratio ? xml_text(ratio_text(*ratio)) : "-");
    }
    cells.push_back(xml_text(rate_law_text(study.answer)));
    cells.push_back(fmt::to_string(study.effort.runs));
    cells.push_back(fmt::to_string(study.effort.diverged));
    cells.push_back(count_text(study.effort.samples));
    table.row(cells);
  }
  return table.str();
}

// Returns a table of the rows in which the heads of the sweeps differ; "" if they agree.
std::string differences_table(const std::vector<NamedStudy>& studies) {
  std::vector<std::string> heads = {"where they differ"}, names;
  for (const NamedStudy& study : studies) {
    heads.push_back(xml_text(study.name));
    for (const auto& [name, value] : study.head.rows)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  HtmlTable table(heads);
  bool any = false;
  for (const std::string& name : names) {
    std::vector<HtmlCell> cells = {xml_text(name)};
    std::set<std::string> values;
    for (const NamedStudy& study : studies) {
      const std::string value = value_of(study.head, name);
      cells.push_back(xml_text(value));
      if (!study.head.rows.empty()) values.insert(value);  // a table of measurements tells none of them
    }
    if (values.size() > 1) table.row(cells);
    any |= values.size() > 1;
  }
  return any ? table.str() : "";
}

// Returns the costs and the claims of policies as HTML; "" if every run was synchronous.
std::string policies_part(const std::vector<NamedStudy>& studies) {
  if (!has_policies(studies)) return "";
  return fmt::format("<h2>Policies</h2>\n<p>{}</p>\n{}{}", kCostWords, costs_table(studies),
                     claims_table(policy_claims(studies)));
}

}  // namespace

void check_same(const std::string& part, const NamedPart& first, const NamedPart& other) {
  if (first.value == other.value) return;
  throw Error(
      fmt::format("{} and {} differ in their {}\n  expected: {}\n  got:      {}\n  hint:     steps to "
                  "other targets or on other data are not comparable",
                  first.study, other.study, part, first.value, other.value));
}

std::vector<std::string> check_side_by_side(const std::vector<NamedStudy>& studies) {
  std::vector<std::string> notes;
  const NamedStudy* first = nullptr;
  for (const NamedStudy& study : studies) {
    if (study.head.rows.empty()) {
      std::string note =
          (study.source.empty() ? study.name : study.source) + ": a table says neither its target nor its data";
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
      continue;
    }
    if (!first) first = &study;
    for (const char* part : {"target", "data"})
      check_same(part, {first->name, value_of(first->head, part)}, {study.name, value_of(study.head, part)});
  }
  return notes;
}

void check_reached(const std::vector<NamedStudy>& studies) {
  if (std::any_of(studies.begin(), studies.end(), [](const NamedStudy& study) { return !study.answer.best.empty(); }))
    return;
  std::vector<std::string> names;
  for (const NamedStudy& study : studies) names.push_back(study.name);
  throw Error(fmt::format(
      "expected a study in which a minibatch reached the target in more than half of the runs of a rate, got "
      "none of {}",
      fmt::join(names, ", ")));
}

std::string side_by_side_text(const std::vector<NamedStudy>& studies) {
  std::string text = fmt::format("{:<18} {:<28} x {}, 95 %\n", "", "95 %", studies.front().name);
  const bool shows_policies = has_policies(studies);
  for (const NamedStudy& study : studies) text += study_block(study, studies.front(), shows_policies);
  if (shows_policies) text += "\n" + wrapped("", kCostWords) + "\n" + claims_text(policy_claims(studies));
  return text;
}

std::string side_by_side_json(const std::vector<NamedStudy>& studies, const std::string& command) {
  Json json = {{"command", command}, {"studies", Json::array()}};
  const bool shows_policies = has_policies(studies);
  for (const NamedStudy& study : studies) json["studies"].push_back(study_json(study, studies.front(), shows_policies));
  if (shows_policies) json["claims"] = claims_json(policy_claims(studies));
  return json.dump(2) + "\n";
}

std::string side_by_side_page(const std::vector<NamedStudy>& studies, const std::string& command,
                              const std::vector<AnswerFigure>& figures) {
  std::vector<std::string> notes;
  for (const NamedStudy& study : studies)
    for (const std::string& note : all_notes(study, studies.front())) notes.push_back(study.name + ": " + note);
  return html_page("Studies side by side",
                   fmt::format("<p><code>{}</code></p>\n<p>Intervals are 95 %; a ratio's follow from those of both "
                               "fits. Best rates: eta_max / (1 + B_n / B), rates over 1 - momentum where that was "
                               "searched.</p>\n{}{}{}{}{}",
                               xml_text(command), fits_table(studies), notes_html(notes), policies_part(studies),
                               figures_html(figures), differences_table(studies)));
}

}  // namespace kb
