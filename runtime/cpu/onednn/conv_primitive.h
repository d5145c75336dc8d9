// Makes oneDNN's descriptions and primitives of a ConvSpec.
#pragma once
#include "runtime/cpu/onednn/engine.h"

namespace kb::onednn {

// Returns the primitive of `spec`, whose n is that of one shard. Forward and input gradients read weights in the form
// of weight_layout(). A weight gradient writes them in the form `weights`; if that is null, in a form that oneDNN
// chooses.
std::shared_ptr<const Primitive> conv_primitive(Engine& engine, const ConvSpec& spec,
                                                const dnnl::memory::desc* weights = nullptr);

// Returns the form of the weights in `desc`.
WeightLayout describe(const ConvSpec& spec, const dnnl::memory::desc& desc);

// The blocks in which a convolution is computed, if they are not those of its operands: oneDNN has fast code only for
// some pairs of layouts, and writes outside of its buffers in one combination.
struct Detour {
  ConvSpec spec;       // the spec that oneDNN gets
  bool input = false;  // true: the tensor with c channels changes its layout
  bool output = false;
};
Detour plan_detour(Engine& engine, const ConvSpec& spec);

}  // namespace kb::onednn
