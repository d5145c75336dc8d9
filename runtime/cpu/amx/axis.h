// The taps of a convolution along one axis. With a stride of s the pixels of its input are cut into s planes, one for
// each remainder, in each of which the stride is 1: tap t joins pixel p of the output with pixel p + shift(t) of the
// plane of the remainder phase(t), which is the input's pixel (p + shift(t)) s + phase(t).
#pragma once
#include <algorithm>
#include <cstdint>

namespace kb::amx {

struct Axis {
  int64_t stride, padding, taps;
  int64_t phase(int64_t tap) const { return ((tap - padding) % stride + stride) % stride; }
  int64_t shift(int64_t tap) const { return (tap - padding - phase(tap)) / stride; }
  // Shifts grow with the tap.
  int64_t least() const { return shift(0); }
  int64_t most() const { return shift(taps - 1); }
  int64_t span() const { return most() - least(); }
  // Only the planes that a tap meets are counted. The taps visit them in turn.
  int64_t planes() const { return std::min(taps, stride); }
  int64_t plane(int64_t tap) const { return tap % planes(); }
};

}  // namespace kb::amx
