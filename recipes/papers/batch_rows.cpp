#include "recipes/papers/batch_rows.h"

#include <fmt/format.h>

namespace kb {

std::string row_words(int64_t row, int64_t minibatch) {
  if (row == minibatch) return fmt::format("the row of kn {}", row);
  return fmt::format("the row of kn {}, {} kn {}", row,
                     row < minibatch ? "the largest that does not exceed" : "the least; it exceeds", minibatch);
}

std::vector<std::string> flags_of(const BatchSettings& s) {
  return {"--optimizer",
          s.optimizer,
          "--lr",
          fmt::format("{}", s.rate),
          "--warmup-epochs",
          fmt::format("{}", s.warmup_epochs),
          "--epochs",
          fmt::format("{}", s.epochs),
          "--momentum",
          fmt::format("{}", s.momentum),
          "--weight-decay",
          fmt::format("{}", s.weight_decay)};
}

void append_flags(Preset& preset, const std::vector<std::string>& flags) {
  preset.flags.insert(preset.flags.end(), flags.begin(), flags.end());
}

}  // namespace kb
