// metrics.csv: metrics.jsonl for spreadsheets and data frames, one row a step and one an evaluation, in their order.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// The text of the table. Its first line names the columns:
//   kind           step | eval
//   step           of a step its number, from 0; of an evaluation the steps done
//   epoch          epochs done: before the step, at the evaluation
//   wall_s         seconds since the start of the program that wrote the line
//   loss           of the step's minibatch; mean over the test set
//   lr             learning rate of the step; at an evaluation, of the step before
//   FIGURE         of an evaluation, one column for each of `figures`; "error": the fraction of the test set
//   count          of an evaluation, samples of the test set
//   samples_per_s  of the step
//   data_wait_ms   milliseconds that the step waited for its minibatch
//   loss_scale     loss scale of the next step (--precision f16)
//   ema_loss, ema_FIGURE  of an evaluation, of the averaged parameters (--ema)
// A cell is empty where the line has no such value, or one that is not finite. Damaged lines and those of another kind
// have no row.
std::string metrics_csv(std::string_view metrics, const std::vector<std::string>& figures = {"error"});

}  // namespace kb
