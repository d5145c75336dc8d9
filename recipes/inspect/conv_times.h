// Times the convolutions of ResNet-50, each alone: forward, and the gradients of input and weights, in any layout that
// the compiler can choose. bench_conv and tune measure with this.
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
  ConvSpec spec;  // layer as a spec of kind forward, with blocks of 1
  int count = 0;  // number of such layers in the net
};

// Returns the distinct convolutions of ResNet-50 (arXiv 1512.03385, with the stride on the 3x3 convolution) for `n`
// images of 224 x 224, with their counts, 53 in all.
std::vector<ConvLayer> resnet50_convolutions(int64_t n, DType dtype);

inline constexpr ConvKind kConvKinds[] = {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad};
const char* name(ConvKind kind);

// Returns whether training computes `kind` of the layer: the gradient of images is not needed.
bool trains(const ConvLayer& layer, ConvKind kind);

// Returns the spec as the compiler plans it if compiler/passes/layout_table.cpp gives `block` (0: NHWC).
ConvSpec in_layout(ConvSpec spec, ConvKind kind, int64_t block);

// Returns the convolutions of a schedule as of NHWC, whatever their layout, and how often each stands there.
std::map<ConvSpec, int> convolutions_of(const Schedule& schedule);

// Zeroed memory for a call. Zeros take as long to multiply as other values; NaN and denormals, which fresh memory might
// hold, take longer.
class ConvMemory {
 public:
  // Makes room for the call. Memory that is large enough keeps its content.
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
  // Makes a timer. The time of a call is that of the fastest of `repeats` runs, after one that warms the caches.
  // Without kernels of our own the library computes everything.
  ConvTimer(int threads, int shards, int repeats, bool own_kernels = true)
      : context_(own_kernels), pool_(threads), shards_(shards), repeats_(repeats) {}

  // Returns the milliseconds of one call.
  double time(const ConvSpec& spec);

  // Returns whether the library computes in `dtype` here, and not in a wider type.
  bool native(DType dtype) const { return compute_dtype(context_, dtype) == dtype; }
  const std::string& implementation() const { return implementation_; }  // implementation that the last call used
  double plan_ms() const { return plan_ms_; }                            // milliseconds of all plans so far
  std::string library() const { return context_.name(); }
  int threads() const { return pool_.threads(); }
  LibraryContext& context() { return context_; }
  Pool& pool() { return pool_; }
  // Plans a call, which can then be run. The time counts in plan_ms().
  std::unique_ptr<LibraryOp> plan(const ConvSpec& spec);

 private:
  LibraryContext context_;
  Pool pool_;
  int shards_, repeats_;
  double plan_ms_ = 0;
  std::string implementation_;
};

// The convolutions of a schedule with nothing around them, each in the fastest of kLayoutBlocks as the constructor
// measures it, in memory that they share.
class ConvolutionsAlone {
 public:
  ConvolutionsAlone(const Schedule& schedule, ConvTimer& timer);
  bool empty() const { return calls_.empty(); }
  // Returns the milliseconds of all convolutions of each dtype together, by layout, as measured when this was made.
  const std::map<DType, LayoutTimes>& layouts() const { return layouts_; }
  // Runs every convolution of the schedule once, equal ones in a row, and returns the milliseconds.
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
