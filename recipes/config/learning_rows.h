// Rows of the flags of optimizer, hyper-parameters and learning rate that are read in a way of their own, and the
// conditions under which such flags have an effect.
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
// The learning rate as it is, or that of the base minibatch: one number, under the name that says which.
FlagRow rate_row(FlagText text, Member<double> member, bool is_base);
FlagRow milestones_row();
FlagRow roles_row(FlagText text, Member<std::vector<Role>> member);
// One flag for every name of a hyper-parameter, whichever optimizers read it.
std::vector<FlagRow> hyper_parameter_rows(const Recipe& recipe);

// Conditions of FlagRow::needs.
bool scales_from_a_base(const RunConfig& config);
std::function<bool(const RunConfig&)> is_scheduled(std::vector<std::string> shapes);  // by one of these
std::function<bool(const RunConfig&)> reads_end_rate(const Recipe& recipe);
bool asks_for_warmup(const RunConfig& config);
bool has_beta2(const RunConfig& config);

// Throws UsageError where the flags of a command line do not say one learning rate, or one beta2. `given`:
// returns true for a flag of the command line.
void check_learning_flags(const RunConfig& config, const std::function<bool(const std::string& flag)>& given);

}  // namespace kb
