// A Nest is the loops of a kernel: the dimensions of the group's domain without those of extent 1, where neighbours
// that every access steps through as one are joined. The first extent is an argument of the kernel (it grows with the
// minibatch), the others are literals. make_nest lowers the group once on symbols to see which dimensions join.
#pragma once
#include <functional>
#include <vector>

#include "compiler/lower/expression.h"

namespace kb {

// One loop of a kernel.
struct Dim {
  int64_t extent = 1;
  bool reduced = false;
  bool dynamic = false;      // whether the extent is an argument of the kernel
  std::vector<size_t> axes;  // axes of the domain that it covers, outermost first
};

struct Nest {
  Dims domain;
  std::vector<Dim> dims;

  // Returns the indices of the domain at one index for each dim.
  Indices domain_index(IndexMath& math, const Indices& at) const;
  // Returns the row-major position among the elements that the dims which are not reduced span.
  Index kept_position(IndexMath& math, const Indices& at) const;
  int64_t kept_elements() const;
  int64_t reduced_elements() const;
};

// A Visit lowers everything that the group loads and stores at one point of the domain.
using Visit = std::function<void(Context&, Expression&, const Indices& at)>;
Nest make_nest(const Context& context, const Visit& visit);

// Returns the extent of a dim as the kernel knows it.
Extent extent_of(Context& context, const Dim& dim);

}  // namespace kb
