#include "graph/formula.h"

#include <array>
#include <charconv>
#include <cmath>

#include "graph/error.h"

namespace kb {
namespace {

FormulaRef make(Formula formula) { return std::make_shared<const Formula>(std::move(formula)); }
FormulaRef make_number(double value) { return make({.number = value}); }
FormulaRef make_call(Op op, std::vector<FormulaRef> args) {
  return make({.kind = Formula::Kind::call, .op = op, .args = std::move(args)});
}

bool is_number(const FormulaRef& f, double value) { return f->kind == Formula::Kind::number && f->number == value; }

FormulaRef make_neg(FormulaRef a) {
  if (a->kind == Formula::Kind::number) return make_number(-a->number);
  return make_call(Op::neg, {std::move(a)});
}

FormulaRef make_add(FormulaRef a, FormulaRef b) {
  if (is_number(a, 0)) return b;
  if (is_number(b, 0)) return a;
  return make_call(Op::add, {std::move(a), std::move(b)});
}

FormulaRef make_mul(FormulaRef a, FormulaRef b) {
  if (is_number(a, 0) || is_number(b, 1)) return a;
  if (is_number(b, 0) || is_number(a, 1)) return b;
  if (is_number(a, -1)) return make_neg(std::move(b));
  if (is_number(b, -1)) return make_neg(std::move(a));
  return make_call(Op::mul, {std::move(a), std::move(b)});
}

// The grammar: sum := product (('+' | '-') product)*; product := factor (('*' | '/') factor)*; factor := '-' factor |
// number | x | y | z | r | name '(' sum, ... ')' | '(' sum ')'
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : text_(text) {}

  FormulaRef whole() {
    FormulaRef result = sum();
    skip();
    if (at_ != text_.size()) fail("end");
    return result;
  }

 private:
  FormulaRef sum() {
    FormulaRef left = product();
    for (;;) {
      if (take('+'))
        left = make_call(Op::add, {left, product()});
      else if (take('-'))
        left = make_call(Op::sub, {left, product()});
      else
        return left;
    }
  }

  FormulaRef product() {
    FormulaRef left = factor();
    for (;;) {
      if (take('*'))
        left = make_call(Op::mul, {left, factor()});
      else if (take('/'))
        left = make_call(Op::div, {left, factor()});
      else
        return left;
    }
  }

  FormulaRef factor() {
    if (take('-')) return make_neg(factor());
    if (take('(')) {
      FormulaRef inner = sum();
      expect(')');
      return inner;
    }
    skip();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.'))
      return number();
    return named();
  }

  FormulaRef number() {
    double value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc()) fail("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return make_number(value);
  }

  FormulaRef named() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("a number, x, y, z, r, a call or '('");
    if (word == "r") return make({.kind = Formula::Kind::result});
    if (word.size() == 1 && word[0] >= 'x' && word[0] <= 'z')
      return make({.kind = Formula::Kind::argument, .argument = static_cast<int8_t>(word[0] - 'x')});
    const Op op = parse_op(word);
    std::vector<FormulaRef> args;
    expect('(');
    do args.push_back(sum());
    while (take(','));
    expect(')');
    if (!is_pointwise(op) || info(op).arity != static_cast<int>(args.size())) fail("a point-wise op's arguments");
    return make_call(op, std::move(args));
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string(1, c));
  }
  [[noreturn]] void fail(const std::string& wanted) const {
    throw InternalError("formula '" + std::string(text_) + "': expected " + wanted + " at column " +
                        std::to_string(at_ + 1));
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Returns `f` with `args` in place of its arguments and `result` in place of its result.
FormulaRef substitute(const FormulaRef& f, const std::vector<FormulaRef>& args, const FormulaRef& result) {
  switch (f->kind) {
    case Formula::Kind::number:
      return f;
    case Formula::Kind::argument:
      return args.at(static_cast<size_t>(f->argument));
    case Formula::Kind::result:
      return result;
    case Formula::Kind::call:
      break;
  }
  std::vector<FormulaRef> replaced;
  for (const FormulaRef& arg : f->args) replaced.push_back(substitute(arg, args, result));
  return make_call(f->op, std::move(replaced));
}

FormulaRef differentiate(const FormulaRef& f, int argument) {
  if (f->kind == Formula::Kind::argument) return make_number(f->argument == argument ? 1 : 0);
  if (f->kind != Formula::Kind::call) return make_number(0);
  FormulaRef total = make_number(0);
  for (size_t i = 0; i < f->args.size(); ++i) {
    FormulaRef inner = differentiate(f->args[i], argument);
    if (is_number(inner, 0)) continue;
    FormulaRef outer = substitute(derivative_of(f->op, static_cast<int>(i)), f->args, f);
    total = make_add(std::move(total), make_mul(std::move(outer), std::move(inner)));
  }
  return total;
}

constexpr size_t kOps = static_cast<size_t>(Op::kCount);

struct Parsed {
  FormulaRef formula;
  std::array<FormulaRef, 3> derivatives;  // null where the op's row says none
};

const std::array<Parsed, kOps>& parsed_table() {
  static const std::array<Parsed, kOps> table = [] {
    std::array<Parsed, kOps> rows;
    for (const OpInfo& row : all_ops()) {
      Parsed& parsed = rows[static_cast<size_t>(row.op)];
      if (!row.formula.empty()) parsed.formula = parse_formula(row.formula);
      for (size_t i = 0; i < 3; ++i)
        if (!row.derivatives[i].empty()) parsed.derivatives[i] = parse_formula(row.derivatives[i]);
    }
    return rows;
  }();
  return table;
}

}  // namespace

FormulaRef parse_formula(std::string_view text) { return FormulaParser(text).whole(); }

FormulaRef formula_of(Op op) { return parsed_table()[static_cast<size_t>(op)].formula; }

FormulaRef derivative_of(Op op, int argument) {
  const Parsed& row = parsed_table()[static_cast<size_t>(op)];
  const FormulaRef& given = row.derivatives.at(static_cast<size_t>(argument));
  if (given) return given;
  return row.formula ? differentiate(row.formula, argument) : make_number(0);
}

double evaluate(const Formula& formula, std::span<const double> args, double result) {
  switch (formula.kind) {
    case Formula::Kind::number:
      return formula.number;
    case Formula::Kind::argument:
      return args[static_cast<size_t>(formula.argument)];
    case Formula::Kind::result:
      return result;
    case Formula::Kind::call:
      break;
  }
  double values[3] = {0, 0, 0};
  for (size_t i = 0; i < formula.args.size(); ++i) values[i] = evaluate(*formula.args[i], args, result);
  return evaluate_op(formula.op, {values, formula.args.size()});
}

double evaluate_op(Op op, std::span<const double> args) {
  if (const FormulaRef& formula = parsed_table()[static_cast<size_t>(op)].formula) return evaluate(*formula, args, 0);
  const double x = args[0], y = args.size() > 1 ? args[1] : 0, z = args.size() > 2 ? args[2] : 0;
  const OpInfo& row = info(op);
  if (row.real) return row.real(x, y, z);
  ensure(row.integer, "an op without a value");
  return static_cast<double>(row.integer(static_cast<int64_t>(x), static_cast<int64_t>(y), 32));
}

double cast_float(DType dtype, double value) {
  if (!is_integer(dtype)) return round_to(dtype, value);
  const auto low = static_cast<double>(least(dtype)), high = static_cast<double>(greatest(dtype));
  return value < low ? low : value >= high ? high : round_to(dtype, value);
}

}  // namespace kb
