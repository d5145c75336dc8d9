#include "compiler/print_ops.h"

namespace kb {

std::string infix(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    default:
      return "";
  }
}

std::string helper_name(Op op) {
  switch (op) {
    case Op::abs:
      return "absolute";
    case Op::sqrt:
      return "root";
    case Op::floor:
      return "round_down";
    case Op::maximum:
      return "maximum";
    case Op::minimum:
      return "minimum";
    case Op::mul_high:
      return "mul_high";
    default:
      return "";
  }
}

}  // namespace kb
