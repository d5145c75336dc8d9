// From a ConvSpec to oneDNN's descriptions and primitives.
#pragma once
#include "runtime/cpu/onednn/engine.h"

namespace kb::onednn {

// The primitive of `spec`, whose n is one shard's. Forward and input gradients read the weights of weight_layout; a
// weight gradient writes them in `weights`, or in a form of its own choice where that is null.
std::shared_ptr<const Primitive> conv_primitive(Engine& engine, const ConvSpec& spec,
                                                const dnnl::memory::desc* weights = nullptr);

// The form of the weights in `desc`.
WeightLayout describe(const ConvSpec& spec, const dnnl::memory::desc& desc);

// The blocks in which a convolution is computed, where they are not those of its operands: oneDNN has fast code only
// for some pairs of layouts, and one combination in which it writes outside its buffers.
struct Detour {
  ConvSpec spec;       // what oneDNN is asked for
  bool input = false;  // the tensor with c channels changes its layout
  bool output = false;
};
Detour plan_detour(Engine& engine, const ConvSpec& spec);

}  // namespace kb::onednn
