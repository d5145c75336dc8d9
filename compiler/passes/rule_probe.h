// Finds out what a rule asks of its context, by calling it once on a small space.
#pragma once
#include <string>

#include "graph/update_rule.h"

namespace kb {

struct RuleNeeds {
  bool norms = false;  // the rule takes norms of layers, which determine the block size of its space
  std::string offset;  // the slot at which the rule takes its gradient (UpdateContext::gradient_offset); "" = none
};

// Returns whether a scalar input is a learning rate of a step, by which the rates of parameters are multiplied.
bool is_learning_rate(const std::string& scalar);

// Throws Error for a rule that calls what is not point-wise on elements or blocks, and for one with two offsets; also,
// if parameters have rates of their own (Variable::rate), for one that needs a learning rate to be one number.
RuleNeeds needs_of(const UpdateRule& rule, bool has_rates);

}  // namespace kb
