#include "recipes/train/minibatch_growth.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace kb {

void MinibatchGrowth::before(int64_t step) {
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

}  // namespace kb
