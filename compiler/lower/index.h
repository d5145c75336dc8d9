// The index arithmetic of `lower` stays symbolic until an instruction needs a register: an Index is a sum of literal
// multiples of atoms. An atom is a register with a known range (a loop variable, a loaded index) or the quotient or
// remainder of another Index by a literal. Known ranges and divisibility remove divisions where dimensions line up, and
// D * (x / D) + x % D is x again: a reshape or a collapsed loop costs nothing unless an access needs the split.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "compiler/kernel/builder.h"

namespace kb {

struct Term {
  int32_t atom = 0;
  int64_t factor = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

// The sum of factor * atom over the terms, plus offset. Terms are sorted by atom, and no factor is 0.
struct Index {
  std::vector<Term> terms;
  int64_t offset = 0;
  bool is_literal() const { return terms.empty(); }
  friend auto operator<=>(const Index&, const Index&) = default;
};
using Indices = std::vector<Index>;  // one index for each dimension

// How a lane loop accesses an index, and the register that says where.
struct Place {
  ir::Access access = ir::Access::uniform;
  ir::Reg at = ir::kNone;
  bool aligned = false;  // true if contiguous, with lane 0 at a multiple of the lanes
  // These are set if a gather is two contiguous accesses: lane l reaches beyond + l where `crosses` is true, else
  // near + l.
  ir::Reg crosses = ir::kNone, near = ir::kNone, beyond = ir::kNone;
  ir::Reg lane = ir::kNone;  // the lane's number, if contiguous
};

class IndexMath {
 public:
  static constexpr int64_t kUnbounded = int64_t{1} << 60;

  explicit IndexMath(ir::Builder& builder) : builder_(builder) {}

  static Index literal(int64_t value) { return {{}, value}; }
  // Returns a register as an index that is between 0 and `most` and a multiple of `multiple`.
  Index of(ir::Reg reg, int64_t most = kUnbounded, int64_t multiple = 1);

  Index add(const Index& a, const Index& b);
  Index scale(const Index& a, int64_t factor) const;
  Index shift(Index a, int64_t offset) const;
  // These return the quotient and the remainder of a non-negative index.
  Index div(const Index& a, int64_t divisor);
  Index mod(const Index& a, int64_t divisor);
  // `flatten` returns the row-major position of `at` in an array of `shape`; `unflatten` is its inverse.
  Index flatten(const Indices& at, const std::vector<int64_t>& shape);
  Indices unflatten(const Index& position, const std::vector<int64_t>& shape);

  // Makes it known that `a` is at most `most`, whatever its terms could add up to.
  void promise(const Index& a, int64_t most) { promised_[a] = most; }
  // These return a lower and an upper bound of `a`; -kUnbounded and kUnbounded if none is known.
  int64_t least(const Index& a) const;
  int64_t most(const Index& a) const;

  // Returns a register that holds `a`.
  ir::Reg emit(const Index& a);
  Place place(const Index& a);
  // Returns low <= a < high as a boolean register; kNone if the range proves it.
  ir::Reg inside(const Index& a, int64_t low, int64_t high);

  // Returns the registers that `a` reads with their factors. Inside quotients and remainders the factor is 0, because
  // their stride is not one number.
  std::vector<Term> leaves(const Index& a) const;

 private:
  enum class Kind : uint8_t { reg, quotient, remainder };
  struct Atom {
    Kind kind = Kind::reg;
    ir::Reg reg = ir::kNone;  // only for Kind::reg
    int64_t most = kUnbounded;
    Index of;
    int64_t divisor = 1;
    int64_t multiple = 1;
  };
  const Atom& atom(int32_t number) const { return atoms_[static_cast<size_t>(number)]; }
  // The split a = step * whole + rest, where 0 <= rest < step and step divides `divisor`; step is 1 if there is none.
  struct Split {
    int64_t step = 1;
    Index whole, rest;
  };
  Split split(const Index& a, int64_t divisor) const;
  Index made(Kind kind, const Index& of, int64_t divisor);
  void join(Index& a);
  bool crosses_once(const Atom& split) const;
  void add_crossing(const Index& a, Place& place);
  ir::Reg emit_atom(int32_t number);
  ir::Reg emit_terms(std::vector<Term> terms, int64_t offset);
  void collect(const Index& a, bool split, std::vector<Term>& found) const;

  ir::Builder& builder_;
  std::vector<Atom> atoms_;
  std::map<Index, int64_t> promised_;
  std::map<std::pair<ir::Reg, int64_t>, int32_t> registers_;
  std::map<std::tuple<Kind, Index, int64_t>, int32_t> known_;
};

}  // namespace kb
