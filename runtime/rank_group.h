// Ranks that sum among themselves.
#pragma once

namespace kb {

// `count` ranks from `first` on, each `stride` after the one before; a count of 0 stands for all ranks. Groups that sum
// at the same time have no rank in common.
struct RankGroup {
  int first = 0, count = 0, stride = 1;

  bool is_all() const { return count == 0; }
  int number_of(int rank) const { return is_all() ? rank : (rank - first) / stride; }  // place of a rank in the group
  int rank_of(int number) const { return is_all() ? number : first + number * stride; }
};

}  // namespace kb
