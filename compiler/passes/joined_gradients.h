// Gradients of values that many nodes use alike, such as the parameters of a recurrent layer, whose steps are unrolled.
// Each use would give a term of its own, and their sum would be written and read again for each of them. Joined, they
// are one op over the rows of all uses, one use above the other.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/tensor.h"

namespace kb {

class JoinedGradients {
 public:
  // Finds the values among those that `needed` names by their nodes, whose gradients are asked for.
  JoinedGradients(Graph& graph, const std::vector<bool>& needed);

  // Returns whether the gradient of this input of a node is joined with that of other nodes.
  bool takes(int32_t node, size_t input) const;
  // Keeps the gradient of the node's output if that of an input is joined.
  void take(int32_t node, Tensor gradient);
  // Returns the joined gradients of `v`, once all its uses have been visited.
  std::vector<Tensor> gradients(Value v) const;

 private:
  enum class Kind : uint8_t {
    slices,    // parts of v along its leading axis, which together are v: their gradients, concatenated
    products,  // x_t v of matrices: the product of all x_t and of all gradients
  };

  struct Use {
    int32_t node;
    Tensor gradient = {};  // gradient of the node's output; invalid if none flows
  };
  using Uses = std::vector<Use>;  // slices in the order of their places, others in that of their nodes

  static size_t input_of(Kind kind) { return kind == Kind::products ? 1 : 0; }
  std::optional<Kind> kind_of(const Node& node) const;
  bool can_join(Value v, Kind kind, const Uses& uses) const;
  bool are_whole(Value v, const Uses& uses) const;
  Tensor joined(Kind kind, const Uses& uses) const;
  const Node& node(int32_t n) const { return graph_.node(n); }

  Graph& graph_;
  std::map<std::pair<Value, Kind>, Uses> uses_;
};

}  // namespace kb
