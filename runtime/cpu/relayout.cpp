// Moves activations from one channel block to another.
#include <cstring>
#include <numeric>

#include "graph/error.h"
#include "runtime/cpu/library_parts.h"

namespace kb {

namespace {

// Moves `run` channels at once, as many as are adjacent in both layouts.
template <class T>
void move(const Relayout& r, int64_t n, const T* source, T* result) {
  const int64_t out_h = r.out_h(), out_w = r.out_w(), run = std::gcd(r.from, r.to);
  const int64_t in_plane = r.h * r.w, out_plane = out_h * out_w;
  for (int64_t sample = 0; sample < n; ++sample) {
    const T* x = source + sample * r.channels * in_plane;
    T* y = result + sample * r.channels * out_plane;
    for (int64_t c = 0; c < r.channels; c += run) {
      const T* from = x + c / r.from * in_plane * r.from + c % r.from;
      T* to = y + c / r.to * out_plane * r.to + c % r.to;
      for (int64_t i = 0; i < out_h; ++i) {
        for (int64_t j = 0; j < out_w; ++j) {
          const T* a = from + (i * r.stride[0] * r.w + j * r.stride[1]) * r.from;
          T* b = to + (i * out_w + j) * r.to;
          for (int64_t k = 0; k < run; ++k) b[k] = a[k];
        }
      }
    }
  }
}

}  // namespace

void Relayout::run(int64_t n, const void* source, void* result) const {
  if (element == 2) return move(*this, n, static_cast<const uint16_t*>(source), static_cast<uint16_t*>(result));
  if (element == 4) return move(*this, n, static_cast<const uint32_t*>(source), static_cast<uint32_t*>(result));
  ensure(element == 8, "relayout: elements of 2, 4 or 8 bytes");
  move(*this, n, static_cast<const uint64_t*>(source), static_cast<uint64_t*>(result));
}

}  // namespace kb
