// The loops of a kernel: the group's domain with neighbouring dimensions made one wherever every access steps through
// them as one, and dimensions of extent 1 left out. The first is an argument of the kernel (it grows with the
// minibatch), the others are literals. Which dimensions join is seen by lowering the group once on symbols.
#pragma once
#include <functional>
#include <vector>

#include "compiler/lower/expression.h"

namespace kb {

struct Dim {
  int64_t extent = 1;
  bool reduced = false;
  bool dynamic = false;      // extent is an argument of the kernel
  std::vector<size_t> axes;  // of the domain, outermost first
};

struct Nest {
  Dims domain;
  std::vector<Dim> dims;

  // Indices of the domain from one index a dim.
  Indices domain_index(IndexMath& math, const Indices& at) const;
  // Row-major position among the elements of the domain that the axes not in `axes` span.
  Index kept_position(IndexMath& math, const Indices& at) const;
  int64_t kept_elements() const;
  int64_t reduced_elements() const;
};

// `visit` lowers everything that the group loads and stores at one point of the domain.
using Visit = std::function<void(Context&, Expression&, const Indices& at)>;
Nest make_nest(const Context& context, const Visit& visit);

// Extent of a dim as the kernel knows it.
Extent extent_of(Context& context, const Dim& dim);

}  // namespace kb
