// Tables of settings by minibatch. The row for a minibatch is the one with the largest tabulated minibatch that does
// not exceed it, or the first row if there is none. Rates of layer-wise methods follow no scaling rule.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

// Returns the row for the minibatch. Rows have a member `minibatch`, by which they are sorted in ascending order.
template <class Row>
const Row& row_of(std::span<const Row> rows, int64_t minibatch) {
  const Row* found = &rows.front();
  for (const Row& row : rows)
    if (row.minibatch <= minibatch) found = &row;
  return *found;
}

// Returns a text such as "the row of kn 8192", with the reason for the choice if the minibatch is not in the table.
std::string row_words(int64_t row, int64_t minibatch);

// Settings of a run, as values of the flags that flags_of() makes. Momentum and layer-wise rules both have these flags.
struct BatchSettings {
  std::string optimizer;
  double rate = 0, warmup_epochs = 0;
  int64_t epochs = 0;
  double momentum = 0.9, weight_decay = 0;
};
// Returns the words of a command line for the settings.
std::vector<std::string> flags_of(const BatchSettings& settings);

void append_flags(Preset& preset, const std::vector<std::string>& flags);

}  // namespace kb
