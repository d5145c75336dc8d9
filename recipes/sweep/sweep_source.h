// Gives the executor the trials of a sweep: those that the plan has now and that no other process has claimed.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "recipes/sweep/claims.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/task/model.h"
#include "recipes/trials/executor.h"

namespace kb {

// All references must outlive the source, which is done also after several failures in a row, whose cause is local.
// `say`: prints a line when only trials of other processes are left.
std::unique_ptr<TrialSource> make_sweep_source(const Recipe& recipe, SweepView& view, ClaimFolder& claims,
                                               SweepIndex& index, std::function<void(const std::string&)> say);

}  // namespace kb
