// Joining is a node that asks to join a launch, and the questions that several rules of fusion ask about the two.
#pragma once
#include "compiler/fuse/drafts.h"

namespace kb {

struct Joining {
  const Drafts& drafts;
  int32_t n;            // number of the node
  int32_t group;        // number of the launch
  const Draft& into;    // the launch
  const Trace& inside;  // nodes and reads that it takes to compute the node there

  const Node& node() const { return drafts.node(n); }
  const Dims& domain() const { return into.group.domain; }
  bool reduces() const { return info(node().op).cls == OpClass::reduction; }
  // Returns whether the node reduces a value of the launch's domain.
  bool reduces_domain() const { return reduces() && drafts.graph().type(node().inputs[0]).shape == domain(); }

  // These return whether the launch's last seed is so few nodes before the node that they share a launch: near if both
  // read one large input (siblings), next door even if they have nothing in common (strangers).
  bool is_near() const;
  bool is_next_door() const;
  // Returns whether both read one value that has more than half as many elements as the domain.
  bool shares_input() const;
  // Returns whether the node reads the launch's own results only at its own position: an element of the domain reads
  // the same element, or the result of its own row; an element of a reduction's finish reads the same kept element.
  bool stays_in_place() const;
};

}  // namespace kb
