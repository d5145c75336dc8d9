// Operation graphs that put the kernels around a convolution into it: does cuDNN take them, by which plan, and how fast
// are they beside the convolution and the kernels apart?
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/cudnn/plans.h"
#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

enum class Fusion : uint8_t {
  sums,               // y = conv(x); per channel the sum of y, in f32
  sums_and_squares,   // and the sum of y * y
  statistics,         // the same two by cuDNN's own op for them
  apply,              // conv(relu(scale * x + shift)), scale and shift of x's dtype
  apply_f32,          // the same with scale and shift in f32
  apply_statistics,   // apply and statistics
  apply_weight_grad,  // the weights' gradient by relu(scale * x + shift)
  input_grad_add,     // dx = dgrad(dy) + other
  input_grad_mask,    // dx = (dgrad(dy) + other) where `saved` > 0, else 0
  input_grad_sums,    // dx = dgrad(dy) where `saved` > 0; per channel the sums of dx and of dx * saved
};
inline constexpr int kFusions = 10;
const char* name(Fusion fusion);

// A fusion around a forward convolution of this spec, or around its gradient: channels last, 16 bits, f32 inside.
struct FusedCase {
  Fusion fusion = Fusion::sums;
  ConvSpec spec;
};
std::string text(const FusedCase& fused);
// The first block of ResNet-50 with 256 images: 1x1 256 to 64, 3x3 64 to 64, 1x1 64 to 256, at 56x56, in every fusion.
std::vector<FusedCase> resnet50_cases(std::span<const DType> dtypes);

struct Operand {
  int64_t id = 0, bytes = 0;
  DType dtype = DType::bf16;
};
struct FusedGraph {
  Descriptor graph;
  std::vector<Operand> operands;  // what it reads and writes in memory
  int64_t apart_bytes = 0;        // that the kernels apart from the convolution read and write
};
// Throws InternalError where cuDNN takes no such graph.
FusedGraph fused_graph(const FusedCase& fused, const DeviceChoice& device);

struct FusedAnswer {
  std::vector<Plan> plans;  // none: refused
  std::string how;          // "engine 38, not deterministic, compiled when it is planned"; or why it is refused
  double milliseconds = 0;  // of the host, to ask and to build the plans
};
// At most `most` plans, by the strictest rules that allow any: fixed sums and a finished kernel first. One plan alone
// where each is compiled, which takes a second or two.
FusedAnswer ask(const Descriptor& graph, const DeviceChoice& device, size_t most);

// Milliseconds on the device of the handle: of the fastest of the answer's plans, and of the fastest that cuDNN has for
// the convolution alone.
double time_fused(const cuda::DeviceHandles& device, cudnnHandle_t handle, const FusedGraph& graph,
                  const FusedAnswer& answer);
double time_bare(const cuda::DeviceHandles& device, cudnnHandle_t handle, const ConvSpec& spec);
// Bytes a second, read and written, of a copy of 1 GiB.
double copy_rate(const cuda::DeviceHandles& device);

}  // namespace kb::cudnn
