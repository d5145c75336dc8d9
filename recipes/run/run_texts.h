// Texts for the console of a run: about the data and the plan, the programs, and evaluations.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/config/plan.h"
#include "recipes/config/run_task.h"
#include "recipes/train/evaluation.h"
#include "recipes/train/loaded_programs.h"
#include "recipes/train/loop_result.h"

namespace kb {

// Returns "line 5" or "lines 5, 6 and 3 more".
std::string line_numbers(std::span<const int64_t> lines);

// Returns an empty line and the figures of the final parameters, and of the averaged ones, on LoopResult::part; no line
// if the final ones were not evaluated.
std::vector<std::string> final_lines(const LoopResult& result);
// Says by which evaluation the best state was chosen, and its figures on the test part; empty if it is the final state
// and was chosen by the test part.
std::string best_text(const BestState& best, const LoopResult& result, std::string_view judged_part);

// Says after how many steps the target was reached, or that it was not.
std::string target_text(const TargetFigure& target, const LoopResult& result);

// Returns, for a run with AdaScale, "AdaScale: 5622 scale-invariant iterations in 1034 steps, a mean gain of 5.44;
// perfect scaling takes 703 steps, no gain 5622".
std::string iterations_text(const Settled& settled, const LoopResult& result);

// Returns lines about the data, the plan, the learning rate and the optimizer.
std::vector<std::string> plan_lines(const RunConfig& config, const Settled& settled, const Task& task,
                                    const DataFacts& data);

// Returns the names of the images that this process could not decode, with the reason: "train/CLASS/FILE: ...".
std::vector<std::string> replaced_images(const Task& task);
// Returns lines about these images: how many were replaced, and the first names. There are none if all were decoded.
std::vector<std::string> replaced_lines(const Task& task);

// Returns lines about the compiled programs: times, and parameters that never learn.
std::vector<std::string> program_lines(const LoadedPrograms& programs, const Settled& settled);

}  // namespace kb
