// The convolutions of ResNet-50 and the time that each takes alone: forward, and the gradients of input and weights, in
// any layout that the compiler can choose. What bench_conv and tune measure with.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "recipes/inspect/layout_rows.h"
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

// The spec as the compiler plans it where compiler/passes/layout_table.cpp says `block` (0: NHWC).
ConvSpec in_layout(ConvSpec spec, ConvKind kind, int64_t block);

// Zeroed memory for a call: zero is no slower than any other value to multiply; NaN and denormals, which fresh memory
// might hold, are.
class ConvMemory {
 public:
  // Makes room for the call; what was there stays as it is where it is large enough.
  void fit(LibraryContext& context, const LibraryOp& op, const ConvSpec& spec);
  void run(Pool& pool, const LibraryOp& op, const ConvSpec& spec);

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Block {
    std::unique_ptr<void, Free> data;
    int64_t bytes = 0;
    void fit(int64_t wanted);
  };
  Block x_, y_, weights_, scratch_;
};

class ConvTimer {
 public:
  // Makes a timer. A call's time is that of the fastest of `repeats` runs, after one that warms the caches.
  ConvTimer(int threads, int shards, int repeats) : pool_(threads), shards_(shards), repeats_(repeats) {}

  // Milliseconds of one call.
  double time(const ConvSpec& spec);

  // Whether the library computes in `dtype` here, not in a wider one.
  bool native(DType dtype) const { return compute_dtype(context_, dtype) == dtype; }
  const std::string& implementation() const { return implementation_; }  // of the last call
  double plan_ms() const { return plan_ms_; }                            // of all plans so far
  std::string library() const { return context_.name(); }
  int threads() const { return pool_.threads(); }
  LibraryContext& context() { return context_; }
  Pool& pool() { return pool_; }
  // A call to be run; counted in plan_ms().
  std::unique_ptr<LibraryOp> plan(const ConvSpec& spec);

 private:
  LibraryContext context_;
  Pool pool_;
  int shards_, repeats_;
  double plan_ms_ = 0;
  std::string implementation_;
};

// The convolutions of a schedule with nothing around them, each in the fastest of kLayoutBlocks (as measured when this
// is made), in memory that they share.
class ConvolutionsAlone {
 public:
  ConvolutionsAlone(const Schedule& schedule, ConvTimer& timer);
  bool empty() const { return calls_.empty(); }
  // Returns the milliseconds of all convolutions of each dtype together, by layout, as measured when this was made.
  const std::map<DType, LayoutTimes>& layouts() const { return layouts_; }
  // Milliseconds of one pass: every convolution of the schedule once, equal ones in a row.
  double time();

 private:
  struct Call {
    std::unique_ptr<LibraryOp> op;
    ConvSpec spec;
    int count = 0;
  };

  ConvTimer& timer_;
  std::vector<Call> calls_;
  ConvMemory memory_;
  std::map<DType, LayoutTimes> layouts_;
};

}  // namespace kb
