#include "recipes/train/minibatch_growth.h"

#include <fmt/format.h>

namespace kb {

void MinibatchGrowth::before(int64_t step) {
  parts_.training().wait();
  feed_.close();
  set_phase(parts_, parts_.phase + 1, step);
  feed_.open(step);
  parts_.observer.note(
      fmt::format("epoch {:.4g}: the minibatch grows to {}", parts_.plan.epochs(step), parts_.batch.derivation()));
}

}  // namespace kb
