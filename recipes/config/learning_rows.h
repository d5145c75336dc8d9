// Rows of flags of the optimizer, its hyper-parameters and the learning rate that the usual kinds of rows do not cover,
// and the conditions under which such flags have an effect.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

// Returns the names of a table's rows.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

FlagRow optimizer_row(const Recipe& recipe);
// Returns the row of --lr, or of --base-lr if `is_base`. Both set one number: the learning rate for any minibatch, or
// for the base minibatch.
FlagRow rate_row(FlagText text, Member<double> member, bool is_base);
FlagRow milestones_row(Member<std::vector<double>> member);
// Returns the row of a list of parameters' roles, as of --no-decay.
FlagRow roles_row(FlagText text, Member<std::vector<Role>> member);
// Returns one row for every name of a hyper-parameter, however many optimizers read it.
std::vector<FlagRow> hyper_parameter_rows(const Recipe& recipe);

// Conditions of FlagRow::needs.
bool scales_from_a_base(const RunConfig& config);
// Returns a condition that is met if --schedule is one of `shapes`.
std::function<bool(const RunConfig&)> is_scheduled(std::vector<std::string> shapes);
std::function<bool(const RunConfig&)> reads_end_rate(const Recipe& recipe);
bool asks_for_warmup(const RunConfig& config);
bool has_beta2(const RunConfig& config);

// Throws UsageError if the flags of a command line define the learning rate or beta2 twice, if --base-lr lacks its
// minibatch, or if the minibatch grows beside --half-life. `given` returns whether the command line has a flag.
void check_learning_flags(const RunConfig& config, const std::function<bool(const std::string& flag)>& given);

}  // namespace kb
