// The program that applies gradients which other programs have computed, each at parameters of its own (asynchronous
// training, backup workers). It is a training step whose loss is the sum over parameters of the parameter times the
// gradient that is given, which therefore is the gradient that the optimizer takes; so any optimizer, clipping and
// averages work in it as in a synchronous step. Its virtual workers are the gradients of one update.
#pragma once
#include "compiler/pipeline/pipeline.h"
#include "runtime/session.h"

namespace kb {

// Returns the graph of an update by the mean of `gradients` gradients, for parameters and running statistics of the
// step `training`, whose groups these are. The inputs have the names that StateStore::views() gives to the slots of
// kept_gradient_rule() (optim/kept_gradient.h), and own_name() of running statistics (recipes/train/join.h). It is
// compiled by options_over() `gradients` workers.
Graph apply_graph(const Compiled& training, const std::vector<ParameterGroup>& groups, int64_t gradients);

// Does the part of an update of the gradient that `worker` keeps, number `number` among those of the update. The last
// one's part ends the update.
void apply_gradient(Session& apply, const StateStore& worker, int64_t number);

}  // namespace kb
