// Types of tensors: a dtype and a shape, with names of the dimensions for people.
#pragma once
#include <cstdint>
#include <string>

#include "graph/attrs.h"
#include "graph/dtype.h"

namespace kb {

using Dims = Ints;

int64_t element_count(const Dims& shape);

// The type of a tensor. `names` is empty or has one letter a dimension ('_': no name), as "NCHW" or "OIHW". They serve
// error texts and dim("C"), and are no part of equality or of the graph's hash.
struct Type {
  DType dtype = DType::f32;
  Dims shape;
  std::string names;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * size_of(dtype); }
  friend bool operator==(const Type& a, const Type& b) { return a.dtype == b.dtype && a.shape == b.shape; }
};

// Returns "f32[N=16,C=3,H=28,W=28]"; a dimension without a name is its number alone.
std::string to_string(const Type& type);
// Returns "[N=16, C=3]", as error texts show it.
std::string shape_text(const Type& type);

}  // namespace kb
