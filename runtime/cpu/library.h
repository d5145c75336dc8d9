// Convolution and matmul on a CPU: planned once (oneDNN, or Eigen where oneDNN is absent and for f64), then run without
// an allocation of ours. A call is cut into a fixed number of shards, each computed by one thread; the sums over shards
// are taken in shard order. So the bits depend on the spec and on `shards`, never on the number of threads.
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

// The state that plans share: the library's engine and the primitives, one for equal specs. It must outlive the ops
// planned with it; plans with one context are made by one thread at a time.
class LibraryContext {
 public:
  LibraryContext();
  std::string name() const;  // "oneDNN 2.6.3", "Eigen 3.4.0"
  // Target::library_isa: oneDNN's widest instruction set here, which its own ONEDNN_MAX_CPU_ISA may lower; of Eigen the
  // processor's (Target::isa), which decides its layouts.
  std::string instruction_set() const;
  // Null where oneDNN is absent.
  onednn::Engine* engine() const { return engine_.get(); }

 private:
  std::shared_ptr<onednn::Engine> engine_;
};

// The dtype that the library computes in for tensors of `dtype`: itself where the processor's units and the library
// have it, else f32.
DType compute_dtype(const LibraryContext& context, DType dtype);

// Float dtypes only; where the library lacks one, the op widens its inputs to f32 in scratch and rounds its result.
// Throws InternalError where a block does not divide its channels or an extent is not positive.
std::unique_ptr<LibraryOp> plan_conv(LibraryContext& context, const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(LibraryContext& context, const MatmulSpec& spec, int shards);

// Size of the weights in the form that a forward or input_grad plan of `spec` reads; it depends on neither n nor the
// shards, so plans that differ in these share packed weights. 0: the plan reads canonical weights.
size_t packed_weight_bytes(LibraryContext& context, const ConvSpec& spec);
// in = {canonical (O, C/groups, KH, KW) weights of dtype `source`}, out = {that form}. The values are rounded to
// spec.dtype.
std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const ConvSpec& spec, DType source);
// Plans the packing of weights that have spec.dtype already.
std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const ConvSpec& spec);

}  // namespace kb
