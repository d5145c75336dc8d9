// The rules of fusion, questions without side effects, say when a node may join a launch; compiler/fuse/fuse.cpp asks
// them. Epilogues and `collect` are the other steps of fusion.
#pragma once
#include <vector>

#include "compiler/fuse/joining.h"
#include "compiler/target.h"

namespace kb {

// Returns whether one of the rules lets the node into the launch (rules.cpp).
bool joins(const Joining& joining);

// Returns who computes the node: the library, or, of a convolution that is a product of matrices, a launch of its own
// on the tensor cores of a GPU (products.cpp). The answer follows from the node, its operands and what they are views
// of, in physical layouts; a gradient of filters has the same answer in f32 as in 16 bits.
Multiplier multiplier_of(const Graph& graph, const Node& node, const Target& target);
// Returns whether the node is a gradient of filters in f32 of images in 16 bits (products.cpp).
bool is_wide_filter_gradient(const Graph& graph, const Node& node);
// Returns whether a product's launch may compute the node too, if one of the rules says so (products.cpp).
bool joins_product(const Joining& joining);

// Finds the bias and the relu that a library call takes inside (epilogue.cpp).
class Epilogues {
 public:
  Epilogues(Drafts& drafts, const Target& target);
  // Fills the epilogue of `group`, which library call `n` has opened.
  void add(int32_t n, int32_t group);

 private:
  int32_t only_reader(int32_t n) const;
  Value bias_of(const Node& sum, int32_t n) const;

  Drafts& drafts_;
  const Target& target_;
  std::vector<std::vector<int32_t>> readers_;  // nodes that read each value, by its id
};

// Returns the finished groups, with their nodes, inputs and outputs (collect.cpp).
std::vector<Group> collect(Drafts& drafts);

}  // namespace kb
