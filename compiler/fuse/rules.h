// The rules of fusion: when a node may join a launch. Each is a question without side effects and lives in the file
// named beside it, with one rule a file; compiler/fuse/fuse.cpp asks them all.
#pragma once
#include <vector>

#include "compiler/fuse/joining.h"
#include "compiler/target.h"

namespace kb {

bool joins_pointwise(const Joining& joining);   // pointwise.cpp
bool joins_rows(const Joining& joining);        // rows.cpp
bool makes_rows(const Joining& joining);        // long_rows.cpp
bool joins_finish(const Joining& joining);      // finish.cpp
bool joins_reductions(const Joining& joining);  // reductions.cpp

// epilogue.cpp: the bias and the relu that library call `n`, a group of its own, takes inside.
class Epilogues {
 public:
  Epilogues(Drafts& drafts, const Target& target);
  void add(int32_t n, int32_t group);

 private:
  int32_t only_reader(int32_t n) const;
  Value bias_of(const Node& sum, int32_t n) const;

  Drafts& drafts_;
  const Target& target_;
  std::vector<std::vector<int32_t>> readers_;  // nodes that read a value, by id
};

// collect.cpp: the finished groups, with their nodes, inputs and outputs.
std::vector<Group> collect(Drafts& drafts);

}  // namespace kb
