// Tables of settings by minibatch: the row of a minibatch is the largest tabulated one that does not exceed it, and the
// least one below the table. Rates of layer-wise methods follow no scaling rule between the rows.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

// `rows`: with a member minibatch, ascending.
template <class Row>
const Row& row_of(std::span<const Row> rows, int64_t minibatch) {
  const Row* found = &rows.front();
  for (const Row& row : rows)
    if (row.minibatch <= minibatch) found = &row;
  return *found;
}

// "the row of kn 8192", and for a minibatch between the rows how that was chosen.
std::string row_words(int64_t row, int64_t minibatch);

// Settings of a run with a schedule over its whole length, as a command line has them. Momentum's rules and the
// layer-wise ones read them alike.
struct BatchSettings {
  std::string optimizer;
  double rate = 0, warmup_epochs = 0;
  int64_t epochs = 0;
  double momentum = 0.9, weight_decay = 0;
};
std::vector<std::string> flags_of(const BatchSettings& settings);

void append_flags(Preset& preset, const std::vector<std::string>& flags);

}  // namespace kb
