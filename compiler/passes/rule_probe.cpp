#include "compiler/passes/rule_probe.h"

#include <fmt/format.h>

#include <map>

#include "compiler/passes/parameter_space.h"
#include "graph/functions.h"
#include "graph/report.h"

namespace kb {
namespace {

// Calls a rule for the first time, on a space of a few blocks and layers. All that the context gives are inputs of the
// graph, so every other node is the rule's own.
class RuleProbe {
 public:
  RuleProbe(const UpdateRule& rule, bool has_rates) {
    UpdateContext context;
    context.parameter = vector("parameter");
    context.gradient = vector("gradient");
    context.decay = [this] { return vector("decay"); };
    context.decoupled_decay = context.decay;
    context.adapt = [this] { return vector("adapt"); };
    context.norm = [this](Tensor) {
      needs_.norms = true;
      return fresh("norm", {kLayers, 1});
    };
    context.gradient_norm = [this] {
      needs_.norms = true;
      return once("gradient_norm", [&] { return scalar_input(graph_, "gradient_norm", DType::f32); });
    };
    context.matrices = [this](Tensor, const MatrixFunction&) { return fresh("matrices", {kBlocks, kSegmentBlock}); };
    context.matrices_with_slots = [this](Tensor, const MatrixSlotFunction&) {
      return fresh("matrices", {kBlocks, kSegmentBlock});
    };
    context.spread = [this](Tensor) { return fresh("spread", {kBlocks, 1}); };
    context.slot = [this](const std::string& name) { return vector("slot." + name); };
    context.gradient_offset = [this](const std::string& name) {
      std::string& offset = needs_.offset;
      if (!offset.empty() && offset != name)
        throw Error(fmt::format("the update rule takes its gradient at two offsets, '{}' and '{}'", offset, name));
      offset = name;
      return vector("slot." + name);
    };
    context.set_slot = [](const std::string&, Tensor) {};
    context.scalar = [this, has_rates](const std::string& name) {
      if (has_rates && is_learning_rate(name)) return vector("scalar." + name);
      return once("scalar." + name, [&] { return scalar_input(graph_, name, DType::f32); });
    };
    try {
      rule(context);
    } catch (const Error&) {
      check_nodes();  // a wrong shape may follow from a node that this check refuses
      throw;
    }
    check_nodes();
  }

  const RuleNeeds& needs() const { return needs_; }

 private:
  static constexpr int64_t kLayers = 3, kBlocks = 5;

  template <class Make>
  Tensor once(const std::string& name, Make&& make) {
    const auto [at, is_new] = made_.try_emplace(name);
    if (is_new) at->second = make();
    return at->second;
  }
  Tensor vector(const std::string& name) {
    return once(name, [&] { return input(graph_, name, DType::f32, {kBlocks, kSegmentBlock}, ""); });
  }
  Tensor fresh(const std::string& name, const Dims& shape) {
    return input(graph_, fmt::format("{}.{}", name, graph_.nodes.size()), DType::f32, shape, "");
  }

  // Returns whether the type has one value for each element or block, of all layers side by side.
  static bool is_of_blocks(const Type& type) { return !type.shape.empty() && type.shape[0] == kBlocks; }

  void check_nodes() const {
    for (const Node& node : graph_.nodes) check(node);
  }

  void check(const Node& node) const {
    if (is_pointwise(node.op) || node.op == Op::broadcast || node.op == Op::stop_gradient) return;
    for (const Value& value : node.inputs)
      if (is_of_blocks(graph_.type(value)))
        throw Error(
            fmt::format("the update rule calls {}, which is not point-wise, on parameters, gradients or slots\n"
                        "  expected: point-wise functions, and norm(x), spread(x) and matrices(x, f) of the context\n"
                        "  got:      {}{}\n"
                        "  hint:     they are blocks of all layers in one table; matrices(x, f) gives f each layer's "
                        "matrix",
                        name(node.op), name(node.op), line_text(node)));
  }

  // Returns the user's line that made the node; "" if it is not known.
  std::string line_text(const Node& node) const {
    int32_t at = node.frame;
    while (at >= 0 && graph_.frames[static_cast<size_t>(at)].caller >= 0)
      at = graph_.frames[static_cast<size_t>(at)].caller;
    if (at < 0) return "";
    const Frame& frame = graph_.frames[static_cast<size_t>(at)];
    return fmt::format(" at {}:{}", base_name(frame.file), frame.line);
  }

  Graph graph_{"rule"};
  std::map<std::string, Tensor> made_;
  RuleNeeds needs_;
};

void check_rates(const UpdateRule& rule) {
  try {
    const RuleProbe probe(rule, true);
  } catch (const Error& error) {
    const std::string fault = error.what();
    throw Error(fmt::format(
        "the update rule cannot take the parameters' rates of their own\n"
        "  expected: a rule in which learning_rate may differ from element to element\n"
        "  got:      {}\n"
        "  hint:     beside one value a layer, such as norm(x), stands a derived scalar that equals the learning rate",
        fault.substr(0, fault.find("\n  expected"))));
  }
}

}  // namespace

bool is_learning_rate(const std::string& scalar) {
  return scalar == "learning_rate" || scalar == "previous_learning_rate";
}

RuleNeeds needs_of(const UpdateRule& rule, bool has_rates) {
  const RuleNeeds needs = RuleProbe(rule, false).needs();
  if (has_rates) check_rates(rule);
  return needs;
}

std::string gradient_offset(const UpdateRule& rule) { return needs_of(rule, false).offset; }

}  // namespace kb
