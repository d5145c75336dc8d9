#include "compiler/lower/index.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace kb {

using ir::Reg;

Index IndexMath::of(Reg reg, int64_t most, int64_t multiple) {
  if (most == 0) return literal(0);
  if (const std::optional<int64_t> value = builder_.literal(reg)) return literal(*value);
  const auto [found, is_new] = registers_.try_emplace({reg, most}, static_cast<int32_t>(atoms_.size()));
  if (is_new) atoms_.push_back({Kind::reg, reg, most, {}, 1, multiple});
  return {{{found->second, 1}}, 0};
}

Index IndexMath::made(Kind kind, const Index& of, int64_t divisor) {
  const auto [found, is_new] = known_.try_emplace({kind, of, divisor}, static_cast<int32_t>(atoms_.size()));
  if (is_new) {
    const int64_t top = most(of);
    const int64_t bound =
        kind == Kind::quotient ? (top >= kUnbounded ? kUnbounded : top / divisor) : std::min(top, divisor - 1);
    atoms_.push_back({kind, ir::kNone, bound, of, divisor, 1});
  }
  return {{{found->second, 1}}, 0};
}

Index IndexMath::add(const Index& a, const Index& b) {
  Index sum{{}, a.offset + b.offset};
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const bool left = j == b.terms.size() || (i < a.terms.size() && a.terms[i].atom <= b.terms[j].atom);
    Term term = left ? a.terms[i] : b.terms[j];
    if (left && j < b.terms.size() && b.terms[j].atom == term.atom) term.factor += b.terms[j++].factor;
    left ? ++i : ++j;
    if (term.factor != 0) sum.terms.push_back(term);
  }
  join(sum);
  return sum;
}

// Replaces c * D * (x / D) + c * (x % D) by c * x, where x / D has the form that `div` gives it: one or several terms.
void IndexMath::join(Index& a) {
  const std::vector<Term> terms = a.terms;
  for (const Term& term : terms) {
    const Atom remainder = atom(term.atom);
    if (remainder.kind != Kind::remainder) continue;
    const Index whole = scale(div(remainder.of, remainder.divisor), term.factor * remainder.divisor);
    const bool there = !whole.is_literal() && std::all_of(whole.terms.begin(), whole.terms.end(), [&](const Term& t) {
      return std::binary_search(a.terms.begin(), a.terms.end(), t);
    });
    if (!there) continue;
    const auto gone = [&](const Term& t) {
      return t == term || std::binary_search(whole.terms.begin(), whole.terms.end(), t);
    };
    std::erase_if(a.terms, gone);
    a = add(shift(a, -whole.offset), scale(remainder.of, term.factor));
    return;
  }
}

Index IndexMath::scale(const Index& a, int64_t factor) const {
  if (factor == 0) return literal(0);
  Index scaled = a;
  for (Term& term : scaled.terms) term.factor *= factor;
  scaled.offset *= factor;
  return scaled;
}

Index IndexMath::shift(Index a, int64_t offset) const {
  a.offset += offset;
  return a;
}

int64_t IndexMath::least(const Index& a) const {
  int64_t sum = a.offset;
  for (const Term& term : a.terms)
    if (term.factor < 0) sum += atom(term.atom).most >= kUnbounded ? -kUnbounded : term.factor * atom(term.atom).most;
  return std::max(sum, -kUnbounded);
}

int64_t IndexMath::most(const Index& a) const {
  if (const auto promised = promised_.find(a); promised != promised_.end()) return promised->second;
  int64_t sum = a.offset;
  for (const Term& term : a.terms) {
    if (term.factor < 0) continue;
    if (atom(term.atom).most >= kUnbounded) return kUnbounded;
    sum += term.factor * atom(term.atom).most;
  }
  return std::min(sum, kUnbounded);
}

namespace {

// Splits a = divisor * whole + rest, with the rest's offset in [0, divisor).
void split_multiples(const Index& a, int64_t divisor, Index& whole, Index& rest) {
  for (const Term& term : a.terms) {
    if (term.factor % divisor == 0)
      whole.terms.push_back({term.atom, term.factor / divisor});
    else
      rest.terms.push_back(term);
  }
  rest.offset = ((a.offset % divisor) + divisor) % divisor;
  whole.offset = (a.offset - rest.offset) / divisor;
}

}  // namespace

// Takes the terms with the largest factors as the whole: 16 block + lane, with lane < 16, is split by 16.
IndexMath::Split IndexMath::split(const Index& a, int64_t divisor) const {
  std::vector<Term> terms = a.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.factor > y.factor; });
  Split best;
  int64_t step = divisor;
  for (size_t wholes = 0; wholes <= terms.size(); ++wholes) {
    if (wholes > 0) step = std::gcd(step, terms[wholes - 1].factor);
    Split by{step, {}, {}};
    split_multiples(a, step, by.whole, by.rest);
    if (step > 1 && least(by.rest) >= 0 && most(by.rest) < step) return by;
  }
  return best;
}

Index IndexMath::div(const Index& a, int64_t divisor) {
  if (divisor == 1) return a;
  Index whole, rest;
  split_multiples(a, divisor, whole, rest);
  // A whole part is split off only from a rest that is never negative, because the quotient rounds towards zero.
  if (least(rest) < 0) return made(Kind::quotient, a, divisor);
  if (most(rest) < divisor) return whole;
  if (const Split by = split(rest, divisor); by.step > 1) return add(whole, div(by.whole, divisor / by.step));
  if (rest.terms.size() == 1 && rest.offset == 0 && rest.terms[0].factor == 1) {
    const Atom inner = atom(rest.terms[0].atom);
    if (inner.kind == Kind::quotient) return add(whole, div(inner.of, inner.divisor * divisor));
    if (inner.kind == Kind::remainder && inner.divisor % divisor == 0)
      return add(whole, mod(div(inner.of, divisor), inner.divisor / divisor));
  }
  return add(whole, made(Kind::quotient, rest, divisor));
}

Index IndexMath::mod(const Index& a, int64_t divisor) {
  if (divisor == 1) return literal(0);
  Index whole, rest;
  split_multiples(a, divisor, whole, rest);
  if (least(rest) < 0) return made(Kind::remainder, a, divisor);
  if (most(rest) < divisor) return rest;
  if (const Split by = split(rest, divisor); by.step > 1)
    return add(scale(mod(by.whole, divisor / by.step), by.step), by.rest);
  if (rest.terms.size() == 1 && rest.offset == 0 && rest.terms[0].factor == 1) {
    const Atom inner = atom(rest.terms[0].atom);
    if (inner.kind == Kind::remainder && inner.divisor % divisor == 0) return mod(inner.of, divisor);
  }
  return made(Kind::remainder, rest, divisor);
}

Index IndexMath::flatten(const Indices& at, const std::vector<int64_t>& shape) {
  Index position;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    position = add(position, scale(at[d], stride));
    stride *= shape[d];
  }
  return position;
}

Indices IndexMath::unflatten(const Index& position, const std::vector<int64_t>& shape) {
  Indices at(shape.size());
  size_t first = 0;
  while (first < shape.size() && shape[first] == 1) ++first;
  Index rest = position;
  for (size_t d = shape.size(); d-- > first + 1;) {
    at[d] = mod(rest, shape[d]);
    rest = div(rest, shape[d]);
  }
  if (first < shape.size()) at[first] = rest;
  return at;
}

// ---- registers ----

Reg IndexMath::emit_atom(int32_t number) {
  const Atom a = atom(number);
  if (a.kind == Kind::reg) return a.reg;
  const Reg of = emit(a.of), divisor = builder_.index(a.divisor);
  return a.kind == Kind::quotient ? builder_.div(of, divisor) : builder_.mod(of, divisor);
}

// Adds outer registers first, so that each loop level adds its own part to the sum of the levels around it.
Reg IndexMath::emit_terms(std::vector<Term> terms, int64_t offset) {
  struct Part {
    int32_t depth;
    Reg reg;
    int64_t factor;
  };
  std::vector<Part> parts;
  for (const Term& term : terms) {
    const Reg reg = emit_atom(term.atom);
    parts.push_back({builder_.depth_of(reg), reg, term.factor});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) { return x.depth < y.depth; });
  Reg sum = builder_.index(offset);
  for (const Part& part : parts) sum = builder_.mul_add(part.reg, builder_.index(part.factor), sum);
  return sum;
}

Reg IndexMath::emit(const Index& a) { return emit_terms(a.terms, a.offset); }

// Returns whether `split` is a quotient or remainder of lane + r that meets at most one multiple of its divisor.
bool IndexMath::crosses_once(const Atom& split) const {
  if (split.kind == Kind::reg || split.of.terms.size() != 1 || split.of.terms[0].factor != 1) return false;
  const Atom& lane = atom(split.of.terms[0].atom);
  return lane.kind == Kind::reg && builder_.is_lane(lane.reg) && split.of.offset >= 0 &&
         most(split.of) < 2 * split.divisor;
}

// Sets `crosses`, `near` and `beyond` if the gather is two contiguous accesses. An example is channels c + 8 in blocks
// of 16: lanes 0 to 7 are the end of one block, lanes 8 to 15 the beginning of the next. There x / D is 1 in lanes that
// cross and 0 in the others, and x % D is x - D (x / D).
void IndexMath::add_crossing(const Index& a, Place& place) {
  Index sum = literal(a.offset);
  for (const Term& term : a.terms) {
    const Atom split = atom(term.atom);
    const bool opens = split.kind == Kind::remainder && crosses_once(split);
    const Index part =
        opens ? add(split.of, scale(div(split.of, split.divisor), -split.divisor)) : Index{{{term.atom, 1}}, 0};
    sum = add(sum, scale(part, term.factor));
  }
  std::vector<Term> uniform;
  int64_t step = 0, lane_factor = 0;
  std::optional<Atom> crossing;
  for (const Term& term : sum.terms) {
    const Atom at = atom(term.atom);
    if (!builder_.lane_varying(emit_atom(term.atom))) {
      uniform.push_back(term);
    } else if (at.kind == Kind::reg && builder_.is_lane(at.reg)) {
      lane_factor += term.factor;
    } else if (at.kind == Kind::quotient && crosses_once(at) && !crossing) {
      crossing = at;
      step = term.factor;
    } else {
      return;
    }
  }
  if (!crossing || lane_factor != 1) return;
  const Reg lane = builder_.convert(DType::i32, emit(crossing->of));
  place.crosses =
      builder_.compute(Op::gt, lane, builder_.constant(DType::i32, static_cast<double>(crossing->divisor - 1)));
  place.near = emit_terms(uniform, sum.offset);
  place.beyond = emit_terms(uniform, sum.offset + step);
}

Place IndexMath::place(const Index& a) {
  std::vector<Term> uniform, varying;
  for (const Term& term : a.terms) (builder_.lane_varying(emit_atom(term.atom)) ? varying : uniform).push_back(term);
  if (varying.empty()) return {ir::Access::uniform, emit(a), false};
  if (varying.size() > 1 || varying[0].factor != 1 || atom(varying[0].atom).kind != Kind::reg ||
      !builder_.is_lane(atom(varying[0].atom).reg)) {
    Place place{ir::Access::gather, emit(a), false};
    add_crossing(a, place);
    return place;
  }
  bool aligned = a.offset % builder_.lanes() == 0;
  for (const Term& term : uniform) aligned &= term.factor * atom(term.atom).multiple % builder_.lanes() == 0;
  Place place{ir::Access::contiguous, emit_terms(uniform, a.offset), aligned};
  place.lane = atom(varying[0].atom).reg;
  return place;
}

Reg IndexMath::inside(const Index& a, int64_t low, int64_t high) {
  // 16 block + lane < 32 is block < 2, the same for all lanes.
  if (const Split by = split(shift(a, -low), high - low); by.step > 1)
    return inside(by.whole, 0, (high - low) / by.step);
  Reg holds = ir::kNone;
  if (least(a) < low) holds = builder_.less(builder_.index(low - 1), emit(a));
  if (most(a) >= high) {
    const Reg below = builder_.less(emit(a), builder_.index(high));
    holds = holds == ir::kNone ? below : builder_.compute(Op::bit_and, holds, below);
  }
  return holds;
}

void IndexMath::collect(const Index& a, bool split, std::vector<Term>& found) const {
  for (const Term& term : a.terms) {
    const Atom& at = atom(term.atom);
    if (at.kind == Kind::reg)
      found.push_back({term.atom, split ? 0 : term.factor});
    else
      collect(at.of, true, found);
  }
}

std::vector<Term> IndexMath::leaves(const Index& a) const {
  std::vector<Term> found;
  collect(a, false, found);
  return found;
}

}  // namespace kb
