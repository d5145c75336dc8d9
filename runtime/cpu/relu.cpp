// Applies relu to a library's result, in the thread that made it and while it is in that thread's cache.
#include <cstring>

#include "graph/error.h"
#include "runtime/cpu/library_parts.h"

namespace kb {

namespace {

// Vectors that every x86-64 processor has.
typedef float Floats __attribute__((vector_size(16)));
typedef int16_t Shorts __attribute__((vector_size(16)));

Floats kept(Floats x) { return x <= 0.0f ? Floats{} : x; }

// Compares the bits: a value is replaced if it is negative and no NaN.
Shorts kept(Shorts x) {
  constexpr int16_t kMagnitude = 0x7fff, kInfinity = 0x7f80;
  return ((x < 0) & ((x & kMagnitude) <= kInfinity)) ? Shorts{} : x;
}

template <class Vector, class T>
void run(T* y, int64_t count) {
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(T);
  const auto part = [](T* at, int64_t lanes) {
    Vector x{};
    std::memcpy(&x, at, static_cast<size_t>(lanes) * sizeof(T));
    x = kept(x);
    std::memcpy(at, &x, static_cast<size_t>(lanes) * sizeof(T));
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) part(y + i, kLanes);
  part(y + i, count - i);
}

}  // namespace

void relu_in_place(DType dtype, void* y, int64_t count) {
  if (dtype == DType::f32) return run<Floats>(static_cast<float*>(y), count);
  ensure(dtype == DType::bf16, "relu: elements of f32 or bf16");
  run<Shorts>(static_cast<int16_t*>(y), count);
}

}  // namespace kb
