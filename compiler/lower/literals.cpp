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
  Sharing(Lowered& lowered, int64_t lanes)
      : lowered_(lowered),
        lanes_(lanes),
        literals_(static_cast<size_t>(lowered.kernel.registers), kNoLiteral),
        counts_vectors_(static_cast<size_t>(lowered.kernel.registers), false) {}

  void run() {
    for (ir::Phase& phase : lowered_.kernel.phases) {
      std::vector<Instr> made;
      made_ = &made;
      visit(phase.body, false);
      phase.body.insert(phase.body.begin(), made.begin(), made.end());
      sort_constants(phase.body);
    }
    ir::tidy(lowered_.kernel);
  }

 private:
  static constexpr int64_t kNoLiteral = INT64_MIN;

  void visit(std::vector<Instr>& body, bool in_loop) {
    for (Instr& instr : body) {
      if (instr.code == Code::constant && instr.type == DType::i64)
        literals_[static_cast<size_t>(instr.dst)] = instr.integer;
      if (is_over_vectors(instr)) counts_vectors_[static_cast<size_t>(instr.dst)] = true;
      replace(instr, in_loop);
      visit(instr.body, in_loop || keeps_divisors(instr));
    }
  }

  bool is_gpu() const { return lowered_.kernel.block_threads > 0; }

  // Returns whether each round of a loop is one vector, so that its variable times the lanes is an element's number.
  static bool is_over_vectors(const Instr& instr) {
    return instr.code == Code::loop && instr.bind == ir::Bind::serial &&
           std::any_of(instr.body.begin(), instr.body.end(),
                       [](const Instr& inner) { return inner.code == Code::loop && inner.bind == ir::Bind::lane; });
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

  // Returns whether divisors in the body of `instr` stay literals.
  bool keeps_divisors(const Instr& instr) const {
    if (instr.code != Code::loop) return false;
    return instr.bind == ir::Bind::lane || (instr.bind == ir::Bind::serial && is_gpu());
  }

  // Returns whether a GPU divides by a shift: one instruction for a power of two, but twenty for an argument.
  bool is_shift(int64_t divisor) const {
    return is_gpu() && divisor > 0 && std::has_single_bit(static_cast<uint64_t>(divisor));
  }

  void replace(Instr& instr, bool in_loop) {
    const int64_t scalar = is_gpu() ? kShaping + 1 : 2, least = instr.lane_varying ? kShaping + 1 : scalar;
    switch (instr.code) {
      case Code::index_div:
      case Code::index_mod:
        if (!in_loop && !is_shift(literals_[static_cast<size_t>(instr.b)])) share(instr.b, 2);
        return;
      case Code::index_add:
        share(instr.a, is_gpu() ? kLeastGpuOffset : kLeastOffset);
        return share(instr.b, is_gpu() ? kLeastGpuOffset : kLeastOffset);
      case Code::index_sub:
      case Code::index_min:
        return share(instr.a, least);
      case Code::index_mul:
      case Code::index_mul_add:
        if (literals_[static_cast<size_t>(instr.b)] == lanes_ && counts_vectors_[static_cast<size_t>(instr.a)]) return;
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
    const int64_t value = literals_[static_cast<size_t>(reg)];
    if (value == kNoLiteral || value < least || (is_gpu() && value == lanes_)) return;
    Instr argument;
    argument.code = Code::argument;
    argument.type = DType::i64;
    argument.integer = lowered_.kernel.arguments++;
    argument.dst = reg = lowered_.kernel.registers++;
    lowered_.arguments.push_back(value);
    made_->push_back(argument);
    literals_.push_back(kNoLiteral);
    counts_vectors_.push_back(false);
  }

  Lowered& lowered_;
  int64_t lanes_;
  std::vector<int64_t> literals_;     // value of each register that is a literal, else kNoLiteral
  std::vector<bool> counts_vectors_;  // whether each register counts the vectors of a loop
  std::vector<Instr>* made_ = nullptr;
};

}  // namespace

void share_literals(Lowered& lowered, int64_t lanes) { Sharing(lowered, lanes).run(); }

}  // namespace kb
