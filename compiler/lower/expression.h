// An Expression computes the value of a graph node at an index vector into a register, by recursion down to the group's
// materialised inputs. Movement only changes the index; iota, random bits, extents, gathers and composites expand in
// place; window ops become loops in place. A value that is not in a group's inputs is computed again wherever it is
// asked for at an index not seen before.
#pragma once
#include <map>
#include <string>
#include <tuple>

#include "compiler/lower/context.h"
#include "graph/rounding.h"

namespace kb {

// The windows of an op along one axis.
struct AxisWindow {
  int64_t kernel, stride, padding, dilation;  // elements
  int64_t from;                               // extent of the axis that is read

  // Returns the rounds of a gradient's loop: for dilation 1 over the windows that may hold the element, counted from
  // the last one, else over the taps of a window.
  int64_t gradient_taps() const { return dilation == 1 ? ceil_div(kernel, stride) : kernel; }
};

class Expression {
 public:
  explicit Expression(Context& context) : cx_(context), b_(context.b), math_(context.math) {}

  // Returns one element in register form (f32 for bf16 and f16, rounded to the value's dtype).
  ir::Reg value(Value v, const Indices& at);
  // Returns the element at a row-major position.
  ir::Reg value_at(Value v, const Index& position);
  // Makes `reg` the value of `v` at `at` for as long as the register is alive.
  void bind(Value v, const Indices& at, ir::Reg reg) { known_[{v, at, guard_}] = reg; }
  // Stores values, each at its own index. All are computed before the first is stored: a state that the kernel
  // overwrites in place may be read again, through another view, for a later one.
  void store(const std::vector<std::pair<Value, Indices>>& values);
  void store(const std::vector<Value>& values, const Indices& at);  // stores all at one index

 private:
  ir::Reg own_result(Value v) const;
  ir::Reg evaluate(Value v, const Indices& at);
  ir::Reg product(Value v, const Indices& at);
  ir::Reg pointwise(const Node& node, const Indices& at);
  ir::Reg guarded(ir::Reg condition, Value v, const Indices& at, ir::Reg otherwise);
  ir::Reg pad(const Node& node, const Indices& at);
  ir::Reg concat(const Node& node, const Indices& at);
  ir::Reg unpack_bits(const Node& node, const Indices& at);
  ir::Reg constant(const Node& node, const Indices& at);
  ir::Reg number(const Index& index, DType dtype);
  ir::Reg random_bits(const Node& node, const Indices& at);
  ir::Reg extent(const Node& node);
  ir::Reg gather(const Node& node, const Indices& at);
  struct Checked {
    Index index;
    ir::Reg holds;
  };
  Checked checked(const Node& node, size_t input, const Indices& at, int64_t extent);
  ir::Reg missing(DType dtype);
  std::string place(const Node& node) const;
  ir::Reg crop(const Node& node, const Indices& at);
  ir::Reg both(ir::Reg a, ir::Reg b);  // returns a and b; kNone is true everywhere
  ir::Reg inside(const Index& index, int64_t low, int64_t high);
  // These are in compiler/lower/window.cpp.
  using TapStep = std::function<std::vector<ir::Reg>(const std::vector<ir::Reg>& before, const Index& tap,
                                                     const Indices& read, ir::Reg holds)>;
  ir::Reg window(Value v, const Indices& at);
  ir::Reg max_pool(Value v, const Indices& at);
  ir::Reg take_at_index(const Node& node, const Indices& at);
  Index window_position(const AxisWindow& axis, const Index& window, const Index& tap);
  bool reads_nearest(const Node& node) const;
  ir::Reg taken(const Node& node, const Index& tap, const Indices& read, ir::Reg holds, ir::Reg zero);
  Index nearest(const Index& index, int64_t extent);
  Index nearest_tap(const AxisWindow& axis, const Index& window, const Index& tap);
  std::vector<ir::Reg> over_taps(const Node& node, const Indices& at, bool gradient,
                                 const std::vector<ir::Reg>& initial, const TapStep& step);
  std::vector<ir::Reg> loop_values(
      int64_t rounds, const std::vector<ir::Reg>& initial,
      const std::function<std::vector<ir::Reg>(const Index&, const std::vector<ir::Reg>&)>& body);

  Indices moved(const Node& node, const Indices& at);

  Context& cx_;
  ir::Builder& b_;
  IndexMath& math_;
  ir::Reg guard_ = ir::kNone;  // loads happen only where it is true; kNone: everywhere
  std::map<std::tuple<Value, Indices, ir::Reg>, ir::Reg> known_;
};

}  // namespace kb
