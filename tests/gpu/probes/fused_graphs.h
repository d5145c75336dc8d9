// Operation graphs in which the kernels around a convolution are fused into it, to ask: does cuDNN take them, with
// which plan, and how fast are they, compared with the convolution and separate kernels?
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/cudnn/plans.h"
#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

inline constexpr int64_t kWorkspaceLimit = int64_t{1} << 30;  // greatest workspace of a plan that is tried, bytes

enum class Fusion : uint8_t {
  sums,               // y = conv(x); the sum of y over each channel, in f32
  sums_and_squares,   // sums, and the sum of y * y
  statistics,         // sums_and_squares by cuDNN's own op for them
  apply,              // conv(relu(scale * x + shift)), scale and shift of x's dtype
  apply_f32,          // apply with scale and shift in f32
  apply_statistics,   // apply and statistics together
  apply_weight_grad,  // the weights' gradient with relu(scale * x + shift) as input
  input_grad_add,     // dx = dgrad(dy) + other
  input_grad_mask,    // dx = (dgrad(dy) + other) where `saved` > 0, else 0
  input_grad_sums,    // dx = dgrad(dy) where `saved` > 0; the sums of dx and dx * saved over each channel
};
inline constexpr int kFusions = 10;
const char* name(Fusion fusion);

// A fusion with a forward convolution of this spec, or with its gradient: channels last, 16 bits, f32 inside.
struct FusedCase {
  Fusion fusion = Fusion::sums;
  ConvSpec spec;
};
std::string text(const FusedCase& fused);
// Returns the first block of ResNet-50 with 256 images, in every fusion: 1x1 256 to 64, 3x3 64 to 64, 1x1 64 to 256, at
// 56x56.
std::vector<FusedCase> resnet50_cases(std::span<const DType> dtypes);

struct Operand {
  int64_t id = 0, bytes = 0;
  DType dtype = DType::bf16;
};
struct FusedGraph {
  Descriptor graph;
  std::vector<Operand> operands;  // operands in memory that it reads and writes
  int64_t apart_bytes = 0;        // bytes that the separate kernels read and write
};
// Throws InternalError when cuDNN does not take the graph.
FusedGraph fused_graph(const FusedCase& fused, const PlanDevice& device);

struct FusedAnswer {
  std::vector<Plan> plans;  // empty: refused
  std::string how;          // "engine 38, not deterministic, compiled when it is planned"; or why it is refused
  double milliseconds = 0;  // host time to ask and to build the plans
};
// Returns at most `most` plans, by the strictest rules that allow any: fixed sums and a finished kernel come first. It
// returns one plan alone if each must be compiled, which takes a second or two.
FusedAnswer ask(const Descriptor& graph, const PlanDevice& device, size_t most);

// Return milliseconds on the handle's device: of the fastest of the answer's plans, and of the fastest plan that cuDNN
// has for the convolution alone.
double time_fused(const cuda::DeviceHandles& device, cudnnHandle_t handle, const FusedGraph& graph,
                  const FusedAnswer& answer);
double time_bare(const cuda::DeviceHandles& device, cudnnHandle_t handle, const ConvSpec& spec);
// Returns bytes a second, read and written, of a copy of 1 GiB.
double copy_rate(const cuda::DeviceHandles& device);

}  // namespace kb::cudnn
