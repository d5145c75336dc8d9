#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Changes the shape of a step in the course of a training, as batch.growths asks: the steps after a growth are run by
// another compiled program, which has more virtual workers or longer sequences.
class MinibatchGrowth : public Instrument {
 public:
  // Both must outlive this object.
  MinibatchGrowth(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {}

  bool acts_before(int64_t step) const override { return parts_.plan.phase_of(step) != parts_.phase; }

  void before(int64_t step) override {
    parts_.training().wait();
    feed_.close();
    set_phase(parts_, parts_.phase + 1, step);
    feed_.open(step);
    const RunPlan& plan = parts_.plan;
    const MinibatchPhase before = plan.phase(parts_.phase - 1), now = plan.phase(parts_.phase);
    std::vector<std::string> changes;
    if (now.minibatch != before.minibatch)
      changes.push_back(fmt::format("the minibatch grows to {}", parts_.batch.derivation()));
    if (now.pieces != before.pieces)
      changes.push_back(now.pieces == 1 ? "samples are whole"
                                        : fmt::format("samples are computed in {} pieces", now.pieces));
    if (now.rate != before.rate)
      changes.push_back(fmt::format("the learning rate is multiplied by {:.6g}", now.rate / before.rate));
    if (now.restarts) changes.emplace_back("the schedule begins anew");
    parts_.observer.note(fmt::format("epoch {:.4g}: {}", plan.epochs(step), fmt::join(changes, "; ")));
  }

 private:
  LoopParts& parts_;
  StepFeed& feed_;
};

}  // namespace

std::unique_ptr<Instrument> make_minibatch_growth(LoopParts& parts, StepFeed& feed) {
  return std::make_unique<MinibatchGrowth>(parts, feed);
}

}  // namespace kb
