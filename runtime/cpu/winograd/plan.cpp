#include "runtime/cpu/winograd/plan.h"

#include "runtime/cpu/winograd/shape.h"

namespace kb::winograd {

namespace {

bool both(const int64_t (&pair)[2], int64_t value) { return pair[0] == value && pair[1] == value; }

bool fits(const Kernels& kernels, int64_t channels, int64_t block) {
  return channels % kChannels == 0 && block >= kernels.lanes && (block == 8 || block == 16 || block == channels);
}

}  // namespace

bool computes(const Kernels& kernels, const ConvSpec& s) {
  return s.dtype == DType::f32 && s.groups == 1 && s.kh == 3 && s.kw == 3 && both(s.stride, 1) && both(s.dilation, 1) &&
         std::max(s.padding[0], s.padding[1]) <= 2 && fits(kernels, s.c, s.block_in) && fits(kernels, s.o, s.block_out);
}

// Each tile costs 16 multiplications for the 36 of four pixels of the result. Tiles that reach over its edge have fewer
// pixels.
bool is_faster(const ConvSpec& spec, std::string_view isa) {
  const Kernels* kernels = kernels_of(isa);
  if (!kernels || !computes(*kernels, spec)) return false;
  const Shape shape(spec);
  return shape.result.h * shape.result.w * 9 >= shape.tile_count() * kTerms * 3 / 2;
}

std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards, std::string_view isa) {
  const Kernels& kernels = *kernels_of(isa);
  return spec.kind == ConvKind::weight_grad ? plan_weight_grad(kernels, spec, shards)
                                            : plan_conv(kernels, spec, shards);
}

}  // namespace kb::winograd
