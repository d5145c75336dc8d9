// Finds out what a rule asks of its context, by calling it once on a small space.
#pragma once
#include <string>

#include "graph/update_rule.h"

namespace kb {

struct RuleNeeds {
  bool norms = false;  // the rule takes norms of layers, which determine the block size of its space
  std::string offset;  // the slot at which the rule takes its gradient (UpdateContext::gradient_offset); "" = none
};

// Throws Error for a rule that calls what is not point-wise on elements or blocks, and for one with two offsets.
RuleNeeds needs_of(const UpdateRule& rule);

}  // namespace kb
