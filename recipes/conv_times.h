// The convolutions of ResNet-50 and the time that each takes alone: forward, and the gradients of input and weights, in
// any layout that the compiler can choose. What bench_conv and tune measure with.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "runtime/cpu/library.h"

namespace kb {

struct ConvLayer {
  ConvSpec spec;  // kind forward, blocks 1
  int count = 0;  // of such layers in the net
};

// The paper's net (arXiv 1512.03385) with the stride on the 3x3 convolution, for `n` images of 224 x 224; distinct
// layers with their counts, 53 in all.
std::vector<ConvLayer> resnet50_convolutions(int64_t n, DType dtype);

inline constexpr ConvKind kConvKinds[] = {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad};
const char* name(ConvKind kind);

// Whether training computes `kind` of the layer: images need no gradient.
bool trains(const ConvLayer& layer, ConvKind kind);

// The spec as the compiler plans it where compiler/layout_table.cpp says `block` (0: NHWC).
ConvSpec in_layout(ConvSpec spec, ConvKind kind, int64_t block);

class ConvTimer {
 public:
  // Of each call the fastest of `repeats` runs counts, after one that warms the caches.
  ConvTimer(int threads, int shards, int repeats) : pool_(threads), shards_(shards), repeats_(repeats) {}

  // Milliseconds of one call.
  double time(const ConvSpec& spec);

  // Whether the library computes in `dtype` here, not in a wider one.
  bool native(DType dtype) const { return compute_dtype(context_, dtype) == dtype; }
  const std::string& implementation() const { return implementation_; }  // of the last call
  double plan_ms() const { return plan_ms_; }                            // of all plans so far
  std::string library() const { return context_.name(); }
  int threads() const { return pool_.threads(); }

 private:
  LibraryContext context_;
  Pool pool_;
  int shards_, repeats_;
  double plan_ms_ = 0;
  std::string implementation_;
};

// Milliseconds that the convolutions of a schedule take alone, one call after the other, each in the faster of NHWC and
// blocks of `block` channels; 0 where there is none.
double convolutions_alone(const Schedule& schedule, ConvTimer& timer, int64_t block);

}  // namespace kb
