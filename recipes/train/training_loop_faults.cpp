// A run that diverges: its values are no longer finite, or it learns nothing. Which op is named, what is kept, how it
// ends.
#include <fmt/format.h>

#include <cmath>

#include "recipes/train/data_check.h"
#include "recipes/train/training_loop.h"
#include "runtime/finite.h"

namespace kb {
namespace {

constexpr const char* kLowerRate = "a smaller learning.lr, or a longer learning.warmup_epochs";
constexpr const char* kMendData = "mend that sample of the data, or leave it out: no learning.lr helps";

}  // namespace

// Collective call. Returns what the first process with a finding found, with its rank; empty where none found any.
std::string TrainingLoop::found_by_any(std::string own) {
  World& world = parts_.world;
  if (!own.empty() && world.size() > 1) own = fmt::format("{} (rank {})", own, world.rank());
  for (std::string& found : world.communicator().all_gather(own))
    if (!found.empty()) return std::move(found);
  return "";
}

// With --check-finite: nothing has changed yet when a step is refused.
void TrainingLoop::check_before(int64_t step) {
  report_until(step);
  parts_.world.at("check of a step");
  if (const std::string fault = not_finite_text(parts_.store.views()); !fault.empty()) stop_at_state(fault, step);
  const std::string maker = found_by_any(check_->run(step));
  if (maker.empty()) return;
  if (step > parts_.start.step) save_checkpoint(step);
  parts_.observer.finish();
  check_samples("a value is not finite", step);
  fail("a value is not finite", step, maker,
       step == 0 ? "no update was made, so that no learning.lr helps: look at the inputs of that op, and at its limits"
                 : kLowerRate);
}

// Collective call. A loss that is finite may hide what the samples of the step before did to the state. A fault of the
// data ends the run here.
void TrainingLoop::check_samples(const std::string& what, int64_t updates) {
  parts_.world.at("search for samples that are not finite");
  const int64_t first = std::max(parts_.start.step, parts_.plan.phase(parts_.phase).begin_step);
  for (int64_t step = updates; step >= std::max(updates - 1, first); --step)
    if (const std::string fault = found_by_any(data_fault(parts_, step)); !fault.empty())
      fail(what, updates, "the data, " + fault, kMendData);
}

// The state of the start can be had again, and with it the first step's values.
std::string TrainingLoop::maker_in_first_step() {
  parts_.observer.note("NOTE: not finite: the first step is computed anew, to find the op that made it");
  parts_.world.at("search for what is not finite");
  parts_.training().wait();
  std::string own;
  try {
    parts_.restore();
    if (!check_) check_ = parts_.make_check(parts_);
    own = check_->run(parts_.start.step);
  } catch (const std::exception&) {
    // Without the name, for want of memory or a compiler, the run ends as it would.
  }
  return found_by_any(std::move(own));
}

void TrainingLoop::stop_at_loss(const char* what, double loss, int64_t updates, bool is_trained) {
  const std::string text = fmt::format("the {} is {}", what, std::isnan(loss) ? "not a number" : "infinite");
  if (is_trained)
    check_samples(text, updates);
  else if (const std::string fault = judged_data_fault(parts_); !fault.empty())
    fail(text, updates, "the data, " + fault, kMendData);
  const std::string maker = is_trained && updates == parts_.start.step ? maker_in_first_step() : "";
  if (updates == 0)
    fail(text, 0, maker,
         "no update was made, so that no learning.lr helps: look at the model, its initial weights and the data");
  fail(text, updates, maker,
       fmt::format("{}; going on with judging.check_finite names the op that makes it", kLowerRate));
}

void TrainingLoop::stop_at_state(const std::string& fault, int64_t updates) {
  const std::string text =
      fmt::format("the state after {} update{} is not finite: {}", updates, updates == 1 ? "" : "s", fault);
  const bool is_first = updates == parts_.start.step + 1;
  if (updates == parts_.start.step) fail(text, updates, "", "look at the initial values of the model's parameters");
  check_samples(text, updates - 1);
  const std::string maker = is_first ? maker_in_first_step() : "";
  if (!maker.empty())
    fail(text, updates - 1, maker, "the loss is finite, its gradient is not: look at that op's inputs and its limits");
  if (is_first || check_) fail(text, updates - 1, "the update: losses and gradients are finite", kLowerRate);
  fail(text, updates - 1, "",
       fmt::format("{}; going on with judging.check_finite names the op that makes it", kLowerRate));
}

// The state is finite, and is kept.
void TrainingLoop::stop_at_epoch(const std::string& fault, int64_t done) {
  save_checkpoint(done);
  parts_.observer.finish();
  fail(fault, done, "", fmt::format("{}; judging.keep_going goes on all the same", kLowerRate));
}

void TrainingLoop::fail(const std::string& what, int64_t step, const std::string& maker, const std::string& hint) {
  const double lr = parts_.schedule.rate(step);
  const std::string kept = parts_.observer.failed({step, lr, what.substr(0, what.find(':')), saved_at_});
  throw Divergence{fmt::format("{} at step {}, with learning rate {}: stopped{}\n  kept: {}\n  hint: {}", what, step,
                               lr, maker.empty() ? "" : "\n  made by: " + maker, kept, hint)};
}

}  // namespace kb
