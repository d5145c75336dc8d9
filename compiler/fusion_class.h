// The classes of steps that fusion makes of a graph, and how each behaves: a row of traits a class, which fuse, order,
// the schedule's text and its proof read.
#pragma once
#include <cstdint>
#include <string_view>

namespace kb {

// carry: adds a partial sum over workers in place; exchange: an all-reduce is started; wait: until it is done.
enum class FusionClass : uint8_t {
  pointwise,
  row_reduce,
  column_reduce,
  full_reduce,
  window,
  scatter,
  library,
  copy,
  carry,
  exchange,
  wait
};

// Kinds of steps, in the order of Step::work's alternatives.
enum class StepKind : uint8_t { kernel, library, copy, exchange, wait };

struct FusionTraits {
  FusionClass cls;
  std::string_view name;
  StepKind kind;
  bool shared;             // other nodes may join the launch after it is opened
  bool computes_again;     // a cheap value whose inputs it reads anyway is computed there, not read
  bool stores_by_element;  // it computes all results of an element before it stores the first
};

const FusionTraits& traits(FusionClass cls);
inline std::string_view name(FusionClass cls) { return traits(cls).name; }

}  // namespace kb
