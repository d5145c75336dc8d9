// The inside of the interpreter: one function for each class of ops. It fills the outputs of one node from the arrays
// of its inputs, in double; interpreter.cpp rounds them. `walk` is the only loop over indices of arbitrary rank.
#pragma once
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "graph/array.h"

namespace kb::oracle {

// One node to evaluate. `out` has the types of the node's outputs and is filled with zeros.
struct Work {
  const Node& node;
  std::span<const Array* const> in;
  std::span<Array> out;
};

void leaf(const Work& work);
void pointwise(const Work& work);
void movement(const Work& work);
void reduction(const Work& work);
void window(const Work& work);
void indexed(const Work& work);
void library(const Work& work);
void flash_attention(const Work& work);
void flash_attention_grad(const Work& work);
void random_bits(const Work& work);

// Returns the value that is read at an index outside of a tensor: NaN for floats, 0 for integers and booleans.
inline double missing(DType dtype) { return is_float(dtype) ? std::numeric_limits<double>::quiet_NaN() : 0; }

// Returns the product of the extents along `axes`.
double extent_along(const Dims& shape, const Ints& axes);
// Returns the strides of a row-major array of this shape, in elements.
Ints row_major(const Dims& shape);

// Calls f(at) for every index of `shape` in row-major order. at[k] is the sum of index * strides[k] over all axes.
template <size_t N, class F>
void walk(const Dims& shape, const std::array<Ints, N>& strides, F&& f) {
  if (element_count(shape) == 0) return;
  Ints index(shape.size(), 0);
  std::array<int64_t, N> at{};
  while (true) {
    f(at);
    size_t axis = shape.size();
    for (; axis > 0; --axis) {
      const size_t a = axis - 1;
      for (size_t k = 0; k < N; ++k) at[k] += strides[k][a];
      if (++index[a] < shape[a]) break;
      for (size_t k = 0; k < N; ++k) at[k] -= strides[k][a] * shape[a];
      index[a] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace kb::oracle
