// A node that asks to join a launch, and the questions that several rules of fusion ask about the two.
#pragma once
#include "compiler/fuse/drafts.h"

namespace kb {

struct Joining {
  const Drafts& drafts;
  int32_t n;            // the node
  int32_t group;        // number of the launch
  const Draft& into;    // the launch
  const Trace& inside;  // nodes and reads that computing the node there takes

  const Node& node() const { return drafts.node(n); }
  const Dims& domain() const { return into.group.domain; }
  bool reduces() const { return info(node().op).cls == OpClass::reduction; }

  // Siblings that share an input share a launch when they are near in the graph; next door even strangers do.
  bool is_near() const;
  bool is_next_door() const;
  // True when both read one value of at least half of the domain's elements.
  bool shares_input() const;
  // True when whatever the node takes from the launch's own results it takes at its own position: an element of the
  // domain reads the same element, or the result of its own row; an element of a reduction's finish reads the same kept
  // element.
  bool stays_in_place() const;
};

}  // namespace kb
