#include "recipes/train/finite_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recipes/train/data_check.h"
#include "runtime/finite.h"

namespace kb {
namespace {

constexpr const char* kMendData = "mend that sample of the data, or leave it out: no learning.lr helps";

std::string not_finite(const char* what, double loss) {
  return fmt::format("the {} is {}", what, std::isnan(loss) ? "not a number" : "infinite");
}

std::string with_check_hint() {
  return fmt::format("{}; going on with judging.check_finite names the op that makes it", kLowerRate);
}

// Returns the fault of a loss that is not finite after `updates` updates. Its hint blames the learning rate only if
// there was an update.
Fault loss_fault(const std::string& what, int64_t updates, const std::string& maker) {
  const char* no_update =
      "no update was made, so that no learning.lr helps: look at the model, its initial weights and the data";
  return {what, updates, maker, updates == 0 ? no_update : with_check_hint()};
}

Fault data_fault_of(const std::string& what, int64_t updates, const std::string& fault) {
  return {what, updates, "the data, " + fault, kMendData};
}

}  // namespace

FiniteGuard::FiniteGuard(const LoopParts& parts) : parts_(parts) {
  if (parts.config.judging.check_finite) check(parts.start.step);
}

FiniteCheck& FiniteGuard::check(int64_t step) {
  const size_t bucket = parts_.order.bucket(step);
  std::unique_ptr<FiniteCheck>& check = checks_[{parts_.phase, bucket}];
  if (!check) check = parts_.make_check(parts_, parts_.phase, bucket);
  return *check;
}

// Collective call. Returns the finding of the lowest rank that has one, and names the rank if there are several
// processes; empty if no process found anything.
std::string FiniteGuard::found_by_any(std::string own) {
  World& world = parts_.world;
  if (!own.empty() && world.size() > 1) own = fmt::format("{} (rank {})", own, world.rank());
  for (std::string& found : world.communicator().all_gather(own))
    if (!found.empty()) return std::move(found);
  return "";
}

// Called with judging.check_finite only. A step that is refused here has not changed the state yet.
void FiniteGuard::before(int64_t step) {
  parts_.world.at("check of a step");
  if (const std::string fault = not_finite_text(parts_.store.views()); !fault.empty()) refuse_state(fault, step);
  if (const std::string maker = found_by_any(check(step).run(step)); !maker.empty()) refuse_step(step, maker);
}

void FiniteGuard::stepped(const ReportedStep& reported) {
  const int64_t step = reported.metrics.step;
  if (!std::isfinite(reported.metrics.loss)) refuse_loss(reported.metrics.loss, step);
  if (!is_first(step)) return;
  std::string fault = not_finite_text(parts_.store.views());
  if (parts_.uses_copies) fault = found_by_any(std::move(fault));  // each process has other replicas
  if (!fault.empty()) refuse_state(fault, step + 1);
}

void FiniteGuard::evaluated(const ReportedEvaluation& reported) {
  if (std::isfinite(reported.evaluation.loss)) return;
  const std::string what = not_finite(parts_.task.valid ? "validation loss" : "test loss", reported.evaluation.loss);
  if (const std::string fault = judged_data_fault(parts_); !fault.empty())
    throw data_fault_of(what, reported.done, fault);
  throw loss_fault(what, reported.done, "");
}

void FiniteGuard::keeps_model(int64_t done) {
  if (const std::string fault = not_finite_text(parts_.store.views(false)); !fault.empty()) refuse_state(fault, done);
}

// Collective call. Returns a value that is not finite in the samples of step number `updates` or of the step before;
// nothing if all are finite. The step before counts because its samples may have spoiled the state while its loss was
// finite.
std::optional<std::string> FiniteGuard::fault_of_samples(int64_t updates) {
  parts_.world.at("search for samples that are not finite");
  const int64_t first = std::max(parts_.start.step, parts_.plan.phase(parts_.phase).begin_step);
  for (int64_t step = updates; step >= std::max(updates - 1, first); --step)
    if (std::string fault = found_by_any(data_fault(parts_, step)); !fault.empty()) return fault;
  return std::nullopt;
}

// Collective call. Returns the op that made the first value that is not finite in the run's first step; empty if it is
// not found. Only the first step can be computed again, because the state before it can be restored.
std::string FiniteGuard::maker_in_first_step() {
  parts_.observer.note("NOTE: not finite: the first step is computed anew, to find the op that made it");
  parts_.world.at("search for what is not finite");
  parts_.training().wait();
  std::string own;
  try {
    parts_.restore();
    own = check(parts_.start.step).run(parts_.start.step);
  } catch (const std::exception&) {
    // If memory or a compiler is missing, the run ends in the same way, but without the name of the op.
  }
  return found_by_any(std::move(own));
}

void FiniteGuard::refuse_step(int64_t step, const std::string& maker) {
  const char* no_update =
      "no update was made, so that no learning.lr helps: look at the inputs of that op, and at its limits";
  Fault fault{"a value is not finite", step, maker, step == 0 ? no_update : kLowerRate};
  if (const std::optional<std::string> data = fault_of_samples(step)) fault = data_fault_of(fault.what, step, *data);
  fault.keeps_state = true;
  throw fault;
}

void FiniteGuard::refuse_loss(double loss, int64_t step) {
  const std::string what = not_finite("loss", loss);
  if (const std::optional<std::string> data = fault_of_samples(step)) throw data_fault_of(what, step, *data);
  throw loss_fault(what, step, is_first(step) ? maker_in_first_step() : "");
}

// `updates`: number of updates that led to the state.
void FiniteGuard::refuse_state(const std::string& fault, int64_t updates) {
  const std::string what =
      fmt::format("the state after {} update{} is not finite: {}", updates, updates == 1 ? "" : "s", fault);
  if (is_first(updates)) throw Fault{what, updates, "", "look at the initial values of the model's parameters"};
  const int64_t step = updates - 1;
  if (const std::optional<std::string> data = fault_of_samples(step)) throw data_fault_of(what, step, *data);
  const std::string maker = is_first(step) ? maker_in_first_step() : "";
  if (!maker.empty())
    throw Fault{what, step, maker, "the loss is finite, its gradient is not: look at that op's inputs and its limits"};
  if (is_first(step) || !checks_.empty())
    throw Fault{what, step, "the update: losses and gradients are finite", kLowerRate};
  throw Fault{what, step, "", with_check_hint()};
}

}  // namespace kb
