#include "optim/wrapped_rules.h"

#include "graph/functions.h"

namespace kb {

UpdateRule with_clipped_gradient(UpdateRule rule, ClippedNorm which) {
  return [rule = std::move(rule), which](UpdateContext& context) {
    UpdateContext clipped = context;
    const auto norm_of_group = [&] {
      const Tensor layers = context.norm(context.gradient);
      return sqrt(sum(layers * layers));
    };
    const Tensor norm = which == ClippedNorm::of_group ? norm_of_group() : context.gradient_norm();
    const Tensor share = minimum(context.scalar(kClipNorm) / (norm + 1e-6), 1.0);
    clipped.gradient = context.gradient * share;
    return rule(clipped);
  };
}

UpdateRule with_averaged_parameters(UpdateRule rule) {
  return [rule = std::move(rule)](UpdateContext& context) {
    const Tensor before = context.parameter, after = rule(context);
    context.set_slot(kEmaOffset, context.scalar(kEmaDecay) * (context.slot(kEmaOffset) + before - after));
    return after;
  };
}

UpdateRule with_prefix(UpdateRule rule, std::string prefix) {
  return [rule = std::move(rule), prefix = std::move(prefix)](UpdateContext& context) {
    UpdateContext named = context;
    named.slot = [&](const std::string& name) { return context.slot(prefix + name); };
    named.set_slot = [&](const std::string& name, Tensor value) { context.set_slot(prefix + name, value); };
    named.matrices_with_slots = [&](Tensor x, const MatrixSlotFunction& f) {
      return context.matrices_with_slots(x, [&](MatrixBatch& batch) {
        MatrixBatch of_name = batch;
        of_name.slot = [&](const std::string& name, const Dims& shape) { return batch.slot(prefix + name, shape); };
        of_name.set_slot = [&](const std::string& name, Tensor value) { batch.set_slot(prefix + name, value); };
        return f(of_name);
      });
    };
    named.gradient_offset = [&](const std::string& name) { return context.gradient_offset(prefix + name); };
    named.scalar = [&](const std::string& name) { return context.scalar(prefix + name); };
    return rule(named);
  };
}

}  // namespace kb
