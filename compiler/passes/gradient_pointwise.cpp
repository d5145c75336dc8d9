// Gradients of point-wise ops: dy times the op's derivative formula. The product is pushed into select, so that a
// branch that is not taken cannot make a NaN of 0 * infinity, and 1 / f becomes a division.
#include "compiler/passes/gradient_rules.h"
#include "graph/formula.h"
#include "graph/functions.h"

namespace kb {
namespace {

bool is_number(const Formula& f) { return f.kind == Formula::Kind::number; }
bool is_number(const Formula& f, double value) { return is_number(f) && f.number == value; }
bool is_call(const Formula& f, Op op) { return f.kind == Formula::Kind::call && f.op == op; }

class Expansion {
 public:
  explicit Expansion(const BackwardNode& node) : node_(node), dy_(node.gradient()) {}

  // Returns dy * f; the number 0 if f is 0 everywhere.
  Operand scaled(const Formula& f) const {
    if (is_number(f, 0)) return 0.0;
    if (is_number(f, 1)) return dy_;
    if (is_number(f, -1)) return -dy_;
    if (is_call(f, Op::neg)) return negated(scaled(*f.args[0]));
    if (is_call(f, Op::div) && is_number(*f.args[0], 1)) return dy_ / expanded(*f.args[1]);
    if (is_call(f, Op::select)) {
      const Operand yes = scaled(*f.args[1]), no = scaled(*f.args[2]);
      if (!yes.tensor.valid() && !no.tensor.valid()) return 0.0;
      return select(expanded(*f.args[0]).tensor, yes, no);
    }
    return dy_ * expanded(f);
  }

 private:
  static Operand negated(const Operand& x) { return x.tensor.valid() ? Operand(-x.tensor) : Operand(-x.number); }

  Operand expanded(const Formula& f) const {
    switch (f.kind) {
      case Formula::Kind::number:
        return f.number;
      case Formula::Kind::argument:
        return node_.in(static_cast<size_t>(f.argument));
      case Formula::Kind::result:
        return node_.out();
      case Formula::Kind::call:
        break;
    }
    std::vector<Operand> args;
    for (const auto& arg : f.args) args.push_back(expanded(*arg));
    // Among numbers alone no argument has a dtype, so the first one becomes a constant (of a select, the first choice).
    const size_t first = f.op == Op::select ? 1 : 0;
    bool has_tensor = false;
    for (size_t i = first; i < args.size(); ++i) has_tensor = has_tensor || args[i].tensor.valid();
    if (!has_tensor) args[first] = constant(node_.graph(), node_.out().dtype(), args[first].number);
    return pointwise(f.op, std::move(args));
  }

  const BackwardNode& node_;
  Tensor dy_;
};

}  // namespace

void pointwise_gradient(const BackwardNode& node) {
  if (node.op() == Op::cast) return node.give(0, node.gradient());  // `give` casts
  for (size_t i = 0; i < node.inputs(); ++i) {
    if (!node.needs(i)) continue;
    const Operand gradient = Expansion(node).scaled(*derivative_of(node.op(), static_cast<int>(i)));
    if (gradient.tensor.valid()) node.give(i, gradient.tensor);
  }
}

}  // namespace kb
