#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "recipes/perf/memory_answer.h"
#include "recipes/train/finite_check.h"
#include "recipes/train/instruments.h"
#include "runtime/finite.h"

namespace kb {
namespace {

// Memory for the float fields of one batch that a program reads, and a search for values that are not finite.
class FloatFields {
 public:
  FloatFields(const Session& session, const std::vector<Field>& fields, const Bucket& bucket)
      : fields_(fields),
        weights_(static_cast<size_t>(bucket.per_worker)),
        samples_(static_cast<size_t>(bucket.per_worker)) {
    for (const Field& field : fields) {
      const bool is_read = is_float(field.dtype) && (field.in_memory || session.has_input(field.name));
      is_any_ = is_any_ || is_read;
      bytes_.emplace_back(is_read ? static_cast<size_t>(bucket.per_worker * field.sample_bytes(bucket.length)) : 0);
    }
    for (std::vector<std::byte>& bytes : bytes_) memory_.fields.emplace_back(bytes);
    memory_.weights = weights_;
    memory_.samples = samples_;
  }

  bool is_any() const { return is_any_; }

  std::string fault(const FieldFill& fill, int64_t batch, const SampleNames& names) {
    fill(batch, memory_);
    for (size_t f = 0; f < fields_.size(); ++f)
      for (int64_t at = 0; at < std::ssize(bytes_[f]) / size_of(fields_[f].dtype); ++at)
        if (const double value = load_element(fields_[f].dtype, bytes_[f].data(), at); !std::isfinite(value))
          return text(f, at, value, names);
    return "";
  }

 private:
  std::string text(size_t f, int64_t at, double value, const SampleNames& names) const {
    const int64_t values = std::ssize(bytes_[f]) / size_of(fields_[f].dtype) / std::ssize(samples_);
    return fmt::format("field '{}' of {}: value {} of {} is {}", fields_[f].name,
                       names.text(samples_[static_cast<size_t>(at / values)]), at % values, values, value);
  }

  const std::vector<Field>& fields_;
  bool is_any_ = false;
  std::vector<std::vector<std::byte>> bytes_;  // one entry per field; empty for a field that is not searched
  std::vector<float> weights_;
  std::vector<int32_t> samples_;
  FieldMemory memory_;
};

// Searches the float fields that the training program reads, in this process's samples of a step. Returns a text such
// as "field 'x' of training sample 77: value 3 of 5 is nan"; empty if all values are finite.
std::string data_fault(const LoopParts& parts, int64_t step) {
  const Source& source = *parts.task.train;
  const size_t bucket = parts.order.bucket(step);
  FloatFields fields(*parts.of_phase()[bucket], parts.task.fields, parts.settled.buckets[bucket]);
  if (!fields.is_any() || source.is_constant()) return "";
  const FieldFill fill = training_fill(parts);
  for (int64_t worker = 0; worker < parts.batch.virtual_workers; ++worker) {
    std::string fault = fields.fault(fill, step * parts.batch.virtual_workers + worker, {kTrainingPart, &source});
    if (!fault.empty()) return fault;
  }
  return "";
}

// Does the same for the part of the data on which evaluations judge. Every process searches the whole part.
std::string judged_data_fault(const LoopParts& parts) {
  const Source& part = judged_part(parts.task);
  const Order order = evaluation_order(parts.settled, part);
  const FieldFill fill = part.gather(order, 0);
  for (int64_t batch = 0; batch < order.steps_per_epoch(); ++batch) {
    const size_t bucket = order.bucket(batch);
    FloatFields fields(*parts.in_phase(parts.inference, parts.phase)[bucket], parts.task.fields,
                       parts.settled.buckets[bucket]);
    if (!fields.is_any() || part.is_constant()) return "";
    if (std::string fault = fields.fault(fill, batch, {judged_part_word(parts.task), &part}); !fault.empty())
      return fault;
  }
  return "";
}

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

// Ends a training whose values are no longer finite, tells which op made the first such value if that can be found, and
// what may help. The guard tests the training loss of every step, the loss of every evaluation, and the state after the
// first step and before a model is saved. With judging.check_finite it tests every value of a step before the step is
// taken. The overridden functions throw Fault if they find a value that is not finite.
class FiniteGuard : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit FiniteGuard(const LoopParts& parts) : parts_(parts) {
    if (parts.config.judging.check_finite) check(parts.start.step);
  }

  bool acts_before(int64_t) const override { return parts_.config.judging.check_finite; }

  // Called with judging.check_finite only. A step that is refused here has not changed the state yet.
  void before(int64_t step) override {
    parts_.world.at("check of a step");
    if (const std::string fault = not_finite_text(parts_.store.views()); !fault.empty()) refuse_state(fault, step);
    if (const std::string maker = found_by_any(check(step).run(step)); !maker.empty()) refuse_step(step, maker);
  }

  void stepped(const ReportedStep& reported) override {
    const int64_t step = reported.metrics.step;
    if (!std::isfinite(reported.metrics.loss)) refuse_loss(reported.metrics.loss, step);
    if (!is_first(step)) return;
    std::string fault = not_finite_text(parts_.store.views());
    if (parts_.uses_copies) fault = found_by_any(std::move(fault));  // each process has other replicas
    if (!fault.empty()) refuse_state(fault, step + 1);
  }

  void evaluated(const ReportedEvaluation& reported) override {
    if (std::isfinite(reported.evaluation.loss)) return;
    const std::string what = not_finite(parts_.task.valid ? "validation loss" : "test loss", reported.evaluation.loss);
    if (const std::string fault = judged_data_fault(parts_); !fault.empty())
      throw data_fault_of(what, reported.done, fault);
    throw loss_fault(what, reported.done, "");
  }

  void keeps_model(int64_t done) override {
    if (const std::string fault = not_finite_text(parts_.store.views(false)); !fault.empty()) refuse_state(fault, done);
  }

 private:
  FiniteCheck& check(int64_t step) {
    const size_t bucket = parts_.order.bucket(step);
    std::unique_ptr<FiniteCheck>& check = checks_[{parts_.phase, bucket}];
    if (check) return *check;
    check = parts_.make_check(parts_, parts_.phase, bucket);
    if (parts_.config.judging.check_finite)
      parts_.observer.note("judging.check_finite: a program of its own takes " + bytes_text(check->bytes()) + " more");
    return *check;
  }

  bool is_first(int64_t step) const { return step == parts_.start.step; }

  // Collective call. Returns the finding of the lowest rank that has one, and names the rank if there are several
  // processes; empty if no process found anything.
  std::string found_by_any(std::string own) {
    World& world = parts_.world;
    if (!own.empty() && world.size() > 1) own = fmt::format("{} (rank {})", own, world.rank());
    for (std::string& found : world.communicator().all_gather(own))
      if (!found.empty()) return std::move(found);
    return "";
  }

  // Collective call. Returns a value that is not finite in the samples of step number `updates` or of the step before;
  // nothing if all are finite. The step before counts because its samples may have spoiled the state while its loss was
  // finite.
  std::optional<std::string> fault_of_samples(int64_t updates) {
    parts_.world.at("search for samples that are not finite");
    const int64_t first = std::max(parts_.start.step, parts_.plan.phase(parts_.phase).begin_step);
    for (int64_t step = updates; step >= std::max(updates - 1, first); --step)
      if (std::string fault = found_by_any(data_fault(parts_, step)); !fault.empty()) return fault;
    return std::nullopt;
  }

  // Collective call. Returns the op that made the first value that is not finite in the run's first step; empty if it
  // is not found. Only the first step can be computed again, because the state before it can be restored.
  std::string maker_in_first_step() {
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

  [[noreturn]] void refuse_step(int64_t step, const std::string& maker) {
    const char* no_update =
        "no update was made, so that no learning.lr helps: look at the inputs of that op, and at its limits";
    Fault fault{"a value is not finite", step, maker, step == 0 ? no_update : kLowerRate};
    if (const std::optional<std::string> data = fault_of_samples(step)) fault = data_fault_of(fault.what, step, *data);
    fault.keeps_state = true;
    throw fault;
  }

  [[noreturn]] void refuse_loss(double loss, int64_t step) {
    const std::string what = not_finite("loss", loss);
    if (const std::optional<std::string> data = fault_of_samples(step)) throw data_fault_of(what, step, *data);
    throw loss_fault(what, step, is_first(step) ? maker_in_first_step() : "");
  }

  // `updates`: number of updates that led to the state.
  [[noreturn]] void refuse_state(const std::string& fault, int64_t updates) {
    const std::string what =
        fmt::format("the state after {} update{} is not finite: {}", updates, updates == 1 ? "" : "s", fault);
    if (is_first(updates)) throw Fault{what, updates, "", "look at the initial values of the model's parameters"};
    const int64_t step = updates - 1;
    if (const std::optional<std::string> data = fault_of_samples(step)) throw data_fault_of(what, step, *data);
    const std::string maker = is_first(step) ? maker_in_first_step() : "";
    if (!maker.empty())
      throw Fault{what, step, maker,
                  "the loss is finite, its gradient is not: look at that op's inputs and its limits"};
    if (is_first(step) || !checks_.empty())
      throw Fault{what, step, "the update: losses and gradients are finite", kLowerRate};
    throw Fault{what, step, "", with_check_hint()};
  }

  const LoopParts& parts_;
  // Made when they are first needed, by phase of the plan and bucket.
  std::map<std::pair<size_t, size_t>, std::unique_ptr<FiniteCheck>> checks_;
};

}  // namespace

std::unique_ptr<Instrument> make_finite_guard(const LoopParts& parts) { return std::make_unique<FiniteGuard>(parts); }

}  // namespace kb
