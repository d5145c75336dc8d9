#include <algorithm>
#include <bit>
#include <tuple>

#include "compiler/kernel/builder.h"
#include "compiler/lower/classes.h"

namespace kb {
namespace {

using ir::Code;
using ir::Instr;
using ir::Reg;

// Literals up to this one stay where they shape the code: strides of lanes, and on a GPU rounds of a thread and
// whatever it adds up to an address.
constexpr int64_t kShaping = 8;
// Literals from these on are no strides of an unrolled loop: added to an address, they say where a slice begins.
constexpr int64_t kLeastOffset = 1024, kLeastGpuOffset = 1 << 16;

// Makes one argument for each place that reads a literal: the text must not show which literals happen to be equal.
class Sharing {
 public:
  // `arguments` gets the value of each argument that is made.
  Sharing(ir::Kernel& kernel, std::vector<int64_t>& arguments)
      : kernel_(kernel), arguments_(arguments), literals_(static_cast<size_t>(kernel.registers), kNoLiteral) {}
  virtual ~Sharing() = default;

  void run() {
    for (ir::Phase& phase : kernel_.phases) {
      std::vector<Instr> made;
      made_ = &made;
      visit(phase.body, false);
      phase.body.insert(phase.body.begin(), made.begin(), made.end());
      sort_constants(phase.body);
    }
    ir::tidy(kernel_);
  }

 protected:
  static constexpr int64_t kNoLiteral = INT64_MIN;

  // Makes arguments of literals that an instruction reads. `in_loop`: whether divisors stay literals there.
  virtual void replace(Instr& instr, bool in_loop) = 0;

  bool is_gpu() const { return kernel_.block_threads > 0; }
  int64_t literal(Reg reg) const { return reg == ir::kNone ? kNoLiteral : literals_[static_cast<size_t>(reg)]; }

  // Makes `reg` a new argument of this value.
  void make_argument(Reg& reg, int64_t value) {
    Instr argument;
    argument.code = Code::argument;
    argument.type = DType::i64;
    argument.integer = kernel_.arguments++;
    argument.dst = reg = kernel_.registers++;
    arguments_.push_back(value);
    made_->push_back(argument);
    literals_.push_back(kNoLiteral);
  }

 private:
  void visit(std::vector<Instr>& body, bool in_loop) {
    for (Instr& instr : body) {
      if (instr.code == Code::constant && instr.type == DType::i64)
        literals_[static_cast<size_t>(instr.dst)] = instr.integer;
      replace(instr, in_loop);
      visit(instr.body, in_loop || keeps_divisors(instr));
    }
  }

  // Returns whether divisors in the body of `instr` stay literals.
  bool keeps_divisors(const Instr& instr) const {
    if (instr.code != Code::loop) return false;
    return instr.bind == ir::Bind::lane || (instr.bind == ir::Bind::serial && is_gpu());
  }

  // Sorts the constants of a body to its front. Each stood at its first use before sharing, which depends on what else
  // happened to have its value.
  static void sort_constants(std::vector<Instr>& body) {
    const auto end = std::stable_partition(body.begin(), body.end(),
                                           [](const Instr& instr) { return instr.code == Code::constant; });
    const auto key = [](const Instr& instr) {
      return std::make_tuple(instr.type, instr.integer, std::bit_cast<uint64_t>(instr.number));
    };
    std::sort(body.begin(), end, [&](const Instr& x, const Instr& y) { return key(x) < key(y); });
  }

  ir::Kernel& kernel_;
  std::vector<int64_t>& arguments_;
  std::vector<int64_t> literals_;  // value of each register that is a literal, else kNoLiteral
  std::vector<Instr>* made_ = nullptr;
};

// Extents, strides, and offsets that are no strides of an unrolled loop.
class ExtentSharing : public Sharing {
 public:
  ExtentSharing(Lowered& lowered, int64_t lanes)
      : Sharing(lowered.kernel, lowered.arguments),
        lanes_(lanes),
        counts_vectors_(static_cast<size_t>(lowered.kernel.registers), false) {}

 private:
  // Returns whether each round of a loop is one vector, so that its variable times the lanes is an element's number.
  static bool is_over_vectors(const Instr& instr) {
    return instr.code == Code::loop && instr.bind == ir::Bind::serial &&
           std::any_of(instr.body.begin(), instr.body.end(),
                       [](const Instr& inner) { return inner.code == Code::loop && inner.bind == ir::Bind::lane; });
  }

  // Returns whether a GPU divides by a shift: one instruction for a power of two, but twenty for an argument.
  bool is_shift(int64_t divisor) const {
    return is_gpu() && divisor > 0 && std::has_single_bit(static_cast<uint64_t>(divisor));
  }

  void replace(Instr& instr, bool in_loop) override {
    if (is_over_vectors(instr)) counts_vectors_[static_cast<size_t>(instr.dst)] = true;
    const int64_t scalar = is_gpu() ? kShaping + 1 : 2, least = instr.lane_varying ? kShaping + 1 : scalar;
    switch (instr.code) {
      case Code::index_div:
      case Code::index_mod:
        if (!in_loop && !is_shift(literal(instr.b))) share(instr.b, 2);
        return;
      case Code::index_add:
        share(instr.a, is_gpu() ? kLeastGpuOffset : kLeastOffset);
        return share(instr.b, is_gpu() ? kLeastGpuOffset : kLeastOffset);
      case Code::index_sub:
      case Code::index_min:
        return share(instr.a, least);
      case Code::index_mul:
      case Code::index_mul_add:
        if (literal(instr.b) == lanes_ && counts_vectors(instr.a)) return;
        return share(instr.b, least);
      case Code::loop:
        if (instr.bind == ir::Bind::serial) share(instr.b, least);
        if (instr.valid != ir::kNone) share(instr.valid, scalar);
        return;
      default:
        return;
    }
  }

  // Makes `reg` a new argument if it is a literal of at least `least`.
  void share(Reg& reg, int64_t least) {
    const int64_t value = literal(reg);
    if (value == kNoLiteral || value < least || (is_gpu() && value == lanes_)) return;
    make_argument(reg, value);
  }

  // Returns whether `reg` counts the vectors of a loop; no argument does.
  bool counts_vectors(Reg reg) const {
    return static_cast<size_t>(reg) < counts_vectors_.size() && counts_vectors_[static_cast<size_t>(reg)];
  }

  int64_t lanes_;
  std::vector<bool> counts_vectors_;
};

// Whatever a kernel adds to an index, and what it compares one with.
class OffsetSharing : public Sharing {
 public:
  OffsetSharing(ir::Kernel& kernel, std::vector<int64_t>& arguments, const std::vector<bool>& chosen)
      : Sharing(kernel, arguments), chosen_(chosen) {}

 private:
  void replace(Instr& instr, bool /*in_loop*/) override {
    const bool adds = instr.code == Code::index_add || instr.code == Code::index_sub;
    const bool compares =
        instr.code == Code::index_lt || instr.code == Code::index_min || instr.code == Code::index_max;
    if (!adds && !compares) return;
    for (Reg* reg : {&instr.a, &instr.b}) {
      const int64_t value = literal(*reg);
      if (value == kNoLiteral) continue;
      const size_t place = places_++;
      if (chosen_.empty() || chosen_[place]) make_argument(*reg, value);
    }
  }

  const std::vector<bool>& chosen_;
  size_t places_ = 0;
};

}  // namespace

void share_literals(Lowered& lowered, int64_t lanes) { ExtentSharing(lowered, lanes).run(); }

std::vector<int64_t> share_offsets(ir::Kernel& kernel, const std::vector<bool>& chosen) {
  std::vector<int64_t> values;
  OffsetSharing(kernel, values, chosen).run();
  return values;
}

}  // namespace kb
