// Convolution and matmul on a CPU, by oneDNN, or by Eigen for f64 and without oneDNN; some convolutions, by kernels of
// our own. A call is planned once and then run without an allocation of ours. It is cut into a fixed number of shards,
// each computed by one thread, and sums over shards are taken in their order. So the bits depend on the spec and on
// `shards`, never on the number of threads.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/cpu/library_op.h"
#include "runtime/library_spec.h"

namespace kb {

namespace onednn {
struct Engine;
}

// The parts that plans share: the library's engine, and the primitives, one for equal specs. It must outlive the ops
// that are planned with it. One thread at a time plans with a context.
class LibraryContext {
 public:
  // Makes a context. Without kernels of our own the library computes everything, which is for comparisons.
  explicit LibraryContext(bool own_kernels = true);
  bool has_own_kernels() const { return own_kernels_; }
  std::string name() const;  // a text: "oneDNN 2.6.3" or "Eigen 3.4.0"
  // Returns Target::library_isa: oneDNN's widest instruction set here, which its ONEDNN_MAX_CPU_ISA may lower; with
  // Eigen that of the processor (Target::isa), since it decides the layouts.
  std::string instruction_set() const;
  // Returns Target::isa: the widest instruction set of this processor that our own kernels are written in, and none
  // that oneDNN may not use, so its ONEDNN_MAX_CPU_ISA limits both.
  const std::string& kernel_isa() const { return kernel_isa_; }
  // Returns null without oneDNN.
  onednn::Engine* engine() const { return engine_.get(); }

 private:
  std::shared_ptr<onednn::Engine> engine_;
  bool own_kernels_;
  std::string kernel_isa_;
};

// Returns the dtype in which the library computes for tensors of `dtype`: `dtype` itself if the processor and the
// library have it, else f32.
DType compute_dtype(const LibraryContext& context, DType dtype);

// Each plans a call for a float dtype. If the library lacks it, the op widens its inputs to f32 in scratch memory and
// rounds its result. Throws InternalError when a block does not divide its channels or an extent is not positive.
std::unique_ptr<LibraryOp> plan_conv(LibraryContext& context, const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(LibraryContext& context, const MatmulSpec& spec, int shards);

// Returns the bytes of the weights in the form that a forward or input_grad plan of `spec` reads; 0: it reads canonical
// weights. The form depends on neither n nor the shards, so plans that differ in these alone share packed weights.
size_t packed_weight_bytes(LibraryContext& context, const ConvSpec& spec);
// Plans the packing: in = {canonical (O, C/groups, KH, KW) weights}, out = {that form}.
std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const ConvSpec& spec);

// They do so for the weights b of a product whose spec is `packed`. The form depends on all of the spec but bias and
// relu, and on the shards.
size_t packed_weight_bytes(LibraryContext& context, const MatmulSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const MatmulSpec& spec, int shards);

// Plans the library call of a graph's library node.
std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards);

}  // namespace kb
