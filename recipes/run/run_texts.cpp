#include "recipes/run/run_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "recipes/config/augmentation.h"
#include "recipes/config/learning.h"
#include "runtime/checkpoint.h"
#include "runtime/options.h"

namespace kb {
namespace {

std::string loader_text(int threads, const Residency& residency) {
  if (threads == 0) return "each step fills its own minibatch (--loader-threads 0)";
  const char* what = residency.is_on() ? "all on the device, minibatches chosen" : "minibatches filled";
  return fmt::format("{} ahead by {} thread{}", what, threads, threads == 1 ? "" : "s");
}

// Returns "test error 3.70 % (370 of 10000), test loss 0.1234" if `part` is "test". `of_what`, if it is not empty,
// stands after each figure in place of the counts: " of the averaged parameters".
std::string evaluation_text(const Evaluation& evaluation, std::string_view part, const std::string& of_what = "") {
  std::string text;
  for (const Figure& figure : evaluation.figures) {
    text += fmt::format("{} {} {}", part, figure.name, figure.text());
    if (figure.kind.is_share && of_what.empty())
      text += fmt::format(" ({:.0f} of {})", figure.value * static_cast<double>(evaluation.count), evaluation.count);
    text += of_what + ", ";
  }
  return text + fmt::format("{} loss {:.4f}", part, evaluation.loss);
}

}  // namespace

std::string line_numbers(std::span<const int64_t> lines) {
  constexpr size_t kMost = 8;
  const std::string rest = lines.size() > kMost ? fmt::format(" and {} more", lines.size() - kMost) : "";
  return fmt::format("line{} {}{}", lines.size() == 1 ? "" : "s",
                     fmt::join(lines.first(std::min(lines.size(), kMost)), ", "), rest);
}

std::vector<std::string> final_lines(const LoopResult& result) {
  if (!result.evaluation) return {};
  std::vector<std::string> lines = {"", evaluation_text(*result.evaluation, result.part)};
  if (result.averaged) lines.push_back(evaluation_text(*result.averaged, result.part, " of the averaged parameters"));
  return lines;
}

std::string best_text(const BestState& best, const LoopResult& result, std::string_view judged_part) {
  if (best.step == result.steps && judged_part == kTestPart) return "";
  const Figure figure = judged_figure(best.evaluation);
  std::string text = fmt::format("best {} {} {} after {} steps: checkpoints/{}", judged_part, figure.name,
                                 figure.text(), best.step, kBestCheckpoint);
  if (judged_part == kTestPart) return text + ", chosen on the test set itself (--validation N holds out samples)";
  return best.test ? text + "; there " + evaluation_text(*best.test, kTestPart) : text;
}

std::string target_text(const TargetFigure& target, const LoopResult& result) {
  if (!result.target) return fmt::format("target {} not reached in {} steps", target.text(), result.steps);
  return fmt::format("target {} reached after {} steps: {} samples, {:.4g} epochs", target.text(), result.target->step,
                     result.target->samples, result.target->epochs);
}

std::string iterations_text(const Settled& settled, const LoopResult& result) {
  const double iterations = result.iterations.value();
  return fmt::format(
      "AdaScale: {:.0f} scale-invariant iterations in {} steps, a mean gain of {:.3g}; perfect scaling takes {} steps, "
      "no gain {}",
      iterations, result.steps, result.steps > 0 ? iterations / static_cast<double>(result.steps) : 1,
      least_steps(settled.config.learning, settled.plan), settled.plan.steps);
}

std::vector<std::string> plan_lines(const RunConfig& config, const Settled& settled, const Task& task,
                                    const DataFacts& data) {
  std::vector<std::string> lines;
  const BatchPlan& batch = settled.batch;
  const RunPlan& plan = settled.plan;
  lines.push_back(task.is_noise ? data.text
                                : data.text + "; " + loader_text(settled.loader_threads, settled.residency));
  if (!data.note.empty()) lines.push_back(data.note);
  if (!config.data.augment.empty()) lines.push_back("augmentation " + describe_augment(config));
  lines.push_back("plan " + plan.derivation(config));
  if (batch.workers() > 1 || batch.per_worker != batch.asked) lines.push_back("workers " + batch.derivation());
  const Rules own = rules_of(task);
  lines.push_back(rate_derivation(own, config.learning, plan));
  if (const std::string note = rate_note(own, config.learning, plan); !note.empty()) lines.push_back(note);
  const std::string smoothing =
      task.classes > 0 ? fmt::format("label smoothing {}, ", config.learning.label_smoothing) : "";
  std::string seeds = fmt::format("seed {}", config.arithmetic.seed);
  if (config.arithmetic.seed_weights) seeds += fmt::format(", of the weights {}", *config.arithmetic.seed_weights);
  if (config.arithmetic.seed_order) seeds += fmt::format(", of the order {}", *config.arithmetic.seed_order);
  lines.push_back(fmt::format("{}; {}{}", optimizer_text(config.learning, config.batch.minibatch), smoothing, seeds));
  for (const GroupLearning& row : config.group_learning) lines.push_back(group_text(own, row, plan));
  return lines;
}

std::vector<std::string> program_lines(const LoadedPrograms& programs, const Settled& settled) {
  std::vector<std::string> lines;
  const Compiled& compiled = programs.update().compiled();
  const LoadReport &a = programs.update().load_report(), &b = programs.evaluate().load_report();
  lines.push_back(fmt::format(
      "compiled {} parameters into {} + {} steps in {:.0f} ms, kernels in {:.0f} ms ({} compiled, {} from the cache{})",
      programs.parameters, compiled.program.at(PartRole::final).steps.size(),
      programs.evaluate().compiled().program.at(PartRole::final).steps.size(),
      compiled.milliseconds + programs.evaluate().compiled().milliseconds, a.jit_milliseconds + b.jit_milliseconds,
      a.compiled + b.compiled, a.cache_hits + b.cache_hits,
      a.compiled + b.compiled > 0 ? " " + RuntimeOptions::from_environment().cache_dir.string() : ""));
  if (programs.parameters == 0) lines.push_back("NOTE: the model has no parameters, so that nothing is learned");
  if (!programs.unused.empty())
    lines.push_back(fmt::format("NOTE: the loss does not depend on these parameters, which never learn: {}",
                                fmt::join(programs.unused, ", ")));
  if (programs.find(Use::estimate))
    lines.push_back(
        fmt::format("batch norm: running statistics anew before every evaluation, of {} x {} training samples",
                    settled.config.judging.recompute_bn, settled.batch.per_worker));
  return lines;
}

std::vector<std::string> replaced_images(const Task& task) {
  std::vector<std::string> replaced;
  std::set<std::string> known;
  for (const Source* source : {task.train.get(), task.plain.get(), task.valid.get(), task.test.get()}) {
    if (source == nullptr) continue;
    for (std::string& line : source->replaced())
      if (known.insert(line).second) replaced.push_back(std::move(line));
  }
  return replaced;
}

std::vector<std::string> replaced_lines(const Task& task) {
  constexpr size_t kNamed = 10;
  const std::vector<std::string> replaced = replaced_images(task);
  if (replaced.empty()) return {};
  std::vector<std::string> lines = {
      fmt::format("NOTE: {} of the images that were read cannot be decoded; the next of the class stood for each:",
                  replaced.size())};
  for (size_t i = 0; i < std::min(replaced.size(), kNamed); ++i) lines.push_back("  " + replaced[i]);
  if (replaced.size() > kNamed) lines.push_back(fmt::format("  and {} more", replaced.size() - kNamed));
  return lines;
}

}  // namespace kb
