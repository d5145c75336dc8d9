// Fusion gives every step of a program a class. A table has one row of traits a class, which says how its steps behave;
// the passes fuse and order, the schedule's text form and verify(Schedule) read it.
#pragma once
#include <cstdint>
#include <string_view>

namespace kb {

// `order` sorts indices (of a scatter, digits); `carry` adds a partial sum over workers in place; `exchange` starts an
// all-reduce; `wait` waits until it is done.
enum class FusionClass : uint8_t {
  pointwise,
  row_reduce,
  column_reduce,
  full_reduce,
  window,
  order,
  scatter,
  library,
  copy,
  carry,
  exchange,
  wait
};

// The kinds of steps, in the order of the alternatives of Step::work.
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
