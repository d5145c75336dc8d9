// Flags that give groups of parameters an optimizer or a learning rate of their own (TrainConfig::group_learning):
// --groups, and every flag of the optimizer and the learning rate with the name of a group behind a dot, --lr.matrices.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

// The row reads "NAME FLAG VALUE ...; NAME ...", such as "discriminator --lr 1e-4 --beta1 0.5; generator --lr 2e-4". A
// group takes every flag that it is not given from the command line. It prints all groups, however they were given.
FlagRow groups_row(const Recipe& recipe);

// Returns whether `flag` is one of a group, as "--lr.matrices".
bool is_group_flag(const Recipe& recipe, const std::string& flag);
// Returns the flags of groups among the words of a command line, each once.
std::vector<std::string> group_flags_in(const Recipe& recipe, const std::vector<std::string>& words);
// Returns the row of a flag of a group.
FlagRow group_flag_row(const Recipe& recipe, const std::string& flag);
// Sets the groups of `config` from the flags of groups among `given`. A group begins with its flags in `config`, or
// else with those of the run. Throws UsageError if a flag has a wrong value, or no effect beside the others.
void read_group_flags(const Recipe& recipe, const GivenFlags& given, RunConfig& config);

// Derives the groups of `config` anew after its other flags have changed. `before` is the configuration before the
// change: a group keeps the flags by which it differs from `before`, and takes all other flags from `config`.
void follow_flags(const Recipe& recipe, const RunConfig& before, RunConfig& config);

}  // namespace kb
