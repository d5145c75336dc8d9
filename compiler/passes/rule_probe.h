// What a rule asks of its context, found by a first call on a small space.
#pragma once
#include <string>

#include "graph/update_rule.h"

namespace kb {

struct RuleNeeds {
  bool norms = false;  // of layers, which shape the space that it works on
  std::string offset;  // the slot at which the rule takes its gradient (UpdateContext::gradient_offset); "" = none
};

// Throws Error for a rule that calls what is not point-wise on elements or blocks, and for one with two offsets.
RuleNeeds needs_of(const UpdateRule& rule);

}  // namespace kb
