// Texts of a run for its console: the data and the plan before it is compiled, the programs, an evaluation.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/config/plan.h"
#include "recipes/config/run_task.h"
#include "recipes/train/evaluation.h"
#include "recipes/train/loop_result.h"
#include "recipes/train/programs.h"

namespace kb {

// "line 5"; "lines 5, 6 and 3 more".
std::string line_numbers(std::span<const int64_t> lines);

// "test error 3.70 % (370 of 10000), test loss 0.1234", `part` being "test"; with `of_what` " of the averaged
// parameters" that stands behind each figure in place of the counts.
std::string evaluation_text(const Evaluation& evaluation, std::string_view part, const std::string& of_what = "");
// Behind an empty line what the final parameters, and the averaged ones, give on LoopResult::part; no line where the
// final ones were not evaluated.
std::vector<std::string> final_lines(const LoopResult& result);
// Says by which evaluation the best state was chosen, and what the test part says of it; empty where it is the final
// one and was chosen by the test part.
std::string best_text(const BestState& best, const LoopResult& result, std::string_view judged_part);

// Says after how many steps the target was reached, or that it was not.
std::string target_text(const TargetFigure& target, const LoopResult& result);

// "AdaScale: 5622 scale-invariant iterations in 1034 steps, a mean gain of 5.44; perfect scaling takes 703 steps, no
// gain 5622", of a run with AdaScale.
std::string iterations_text(const Settled& settled, const LoopResult& result);

// Lines about the data, the plan, the learning rate and the optimizer.
std::vector<std::string> plan_lines(const RunConfig& config, const Settled& settled, const Task& task,
                                    const DataFacts& data);

// Names of the images that this process could not decode, with the reason: "train/CLASS/FILE: ...".
std::vector<std::string> replaced_images(const Task& task);
// Lines about them: how many were replaced, and the first of them by name. None where there are none.
std::vector<std::string> replaced_lines(const Task& task);

// Lines about the compiled programs: times, and parameters that never learn.
std::vector<std::string> program_lines(const LoadedPrograms& programs, const Settled& settled);

}  // namespace kb
