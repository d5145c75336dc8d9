// Converts metrics.jsonl to metrics.csv, for spreadsheets and data frames: a row for each step and each evaluation, in
// their order.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// Returns the text of the table. Its first line names the columns:
//   kind           "step" or "eval"
//   step           step: its number, from 0; evaluation: number of steps done
//   epoch          epochs done before the step or the evaluation
//   wall_s         seconds since the start of the program that wrote the line
//   loss           step: mean over its minibatch; evaluation: mean over the part of the data that is evaluated
//   lr             learning rate of the step or, in a row of an evaluation, of the step before
//   FIGURE         one column for each of `figures`, such as "error", the fraction of samples classified wrongly;
//                  rows of steps have it with --train-metrics alone
//   count          number of samples that were evaluated; evaluations only
//   samples_per_s  samples per second of the step
//   data_wait_ms   milliseconds that the step waited for its minibatch
//   loss_scale     loss scale of the next step (--precision f16)
//   ema_loss, ema_FIGURE      evaluation of the averaged parameters (--eval-ema)
//   train_loss, train_FIGURE  means over the training steps since the evaluation before; evaluations only
// A cell is empty if the line has no such value or one that is not finite. Damaged lines and lines of other kinds give
// no row.
std::string metrics_csv(std::string_view metrics, const std::vector<std::string>& figures = {"error"});

}  // namespace kb
