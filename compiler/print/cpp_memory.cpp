// CppPrinter's loads and stores. A vector is moved whole where that is possible; tails and masks have forms of their
// own, and all other accesses go lane by lane.
#include "compiler/print/cpp_printer.h"

namespace kb::cpp {

std::string CppPrinter::first_index(const Instr& instr) const {
  const std::string a = scalar(instr.a);
  if (instr.access != Access::contiguous || first_ == "0") return a;
  return a == "0" ? first_ : fmt::format("{} + {}", a, first_);
}

std::string CppPrinter::lane_index(const Instr& instr) const {
  if (instr.access == Access::contiguous) return first_index(instr) + " + l";
  if (!varying(instr.a)) return scalar(instr.a);
  if (!reg(instr.a).strided) return fmt::format("r{}[l]", instr.a);
  return fmt::format("r{} + l * {}", instr.a, stride(instr.a));
}

std::string CppPrinter::place(const Instr& instr) const {
  const std::string index = first_index(instr);
  return index == "0" ? array(instr) : fmt::format("{} + {}", array(instr), index);
}

std::string CppPrinter::element(const Instr& instr, const std::string& at) const {
  const std::string memory = array(instr);
  if (in_local(instr))
    return instr.type == DType::boolean ? fmt::format("{}[{}] & 1", memory, at) : fmt::format("{}[{}]", memory, at);
  if (is_encoded(instr.type)) return fmt::format("load_{}({} + {})", name(instr.type), memory, at);
  return instr.type == DType::boolean ? fmt::format("{}[{}] != 0", memory, at) : fmt::format("{}[{}]", memory, at);
}

std::string CppPrinter::widened(const Instr& instr, const std::string& value) const {
  if (in_local(instr) || size_of(instr.type) >= 4) return value;
  return fmt::format("widen_{}({})", name(instr.type), value);
}

std::string CppPrinter::narrowed(const Instr& store) const {
  const std::string value = operand(store.b, true);
  if (in_local(store) || size_of(store.type) >= 4) return value;
  if (rounds_when_stored(store))
    return fmt::format("round_{}({})", name(store.type), operand(definition(store.b).a, true));
  return fmt::format("narrow_{}({})", name(store.type), value);
}

std::string CppPrinter::whole(const Instr& instr, std::string_view qualifier) const {
  const std::string vector = in_local(instr) ? vector_type(instr.type) : memory_vector(instr.type);
  return fmt::format("*({}{}m*)({})", qualifier, vector, place(instr));
}

void CppPrinter::load(const Instr& instr) {
  const Reg where = instr.b;
  if (!instr.lane_varying) {
    const std::string value = element(instr, scalar(instr.a));
    if (where == kNone) return define(instr, value);
    return define(instr, fmt::format("{} ? {} : {}", scalar(where), value, literal(instr.type, instr.number, 0)));
  }
  const bool some = varying(where), masked = some && !tail_ && !in_local(instr) && instr.type == DType::f32;
  if (instr.access != Access::contiguous || (some && !masked)) return load_by_lane(instr);
  if (masked) {
    const std::string value = fmt::format("load_where({}, {})", place(instr), scalar(where));
    return define(instr,
                  instr.number == 0 ? value : fmt::format("{} ? {} : {}", scalar(where), value, splat_number(instr)));
  }
  if (instr.integer != 0) line("__builtin_prefetch({} + {});", place(instr), instr.integer);
  std::string value =
      widened(instr, tail_ && !in_local(instr) ? fmt::format("load_part_x{}({}, n)", lanes_, place(instr))
                                               : whole(instr, "const "));
  if (where != kNone) value = fmt::format("{} ? {} : {}", scalar(where), value, splat_number(instr));
  define(instr, value);
}

std::string CppPrinter::splat_number(const Instr& instr) const {
  const std::string value = literal(instr.type, instr.number, 0);
  return fmt::format("splat_{}({}{})", vector_type(instr.type), instr.type == DType::boolean ? "-" : "", value);
}

void CppPrinter::load_by_lane(const Instr& instr) {
  line("{} r{} = {};", vector_type(instr.type), instr.dst, splat_number(instr));
  std::string all, each;
  if (instr.b != kNone && varying(instr.b)) each = fmt::format("if ({}[l]) ", scalar(instr.b));
  if (instr.b != kNone && !varying(instr.b)) all = fmt::format("if ({}) ", scalar(instr.b));
  const std::string value = element(instr, lane_index(instr));
  line("{}for (long l = 0; l < {}; ++l) {}r{}[l] = {};", all, lane_count(), each, instr.dst,
       instr.type == DType::boolean ? fmt::format("-({})", value) : value);
}

void CppPrinter::store(const Instr& instr) {
  const std::string condition = instr.c != kNone && !varying(instr.c) ? fmt::format("if ({}) ", scalar(instr.c)) : "";
  if (instr.access == Access::uniform && !varying(instr.b))
    return line("{}{};", condition, store_element(instr, scalar(instr.a), scalar(instr.b)));
  if (instr.access != Access::contiguous || varying(instr.c)) return store_by_lane(instr);
  const std::string value = narrowed(instr);
  const std::string at = place(instr);
  if (tail_ && in_local(instr)) {
    const std::string first = fmt::format("first_x{}(n)", lanes_),
                      keep = is_wide(instr.type) ? fmt::format("wide({})", first) : first;
    line("{}{} = {} ? {} : {};", condition, whole(instr, ""), keep, value, whole(instr, "const "));
  } else if (tail_) {
    line("{}store_part({}, {}, n);", condition, at, value);
  } else if (instr.streaming && kernel_.streaming_argument >= 0 && can_stream(instr.type)) {
    line("{}stream({}, {}, past_cache);", condition, at, value);
  } else {
    line("{}{} = {};", condition, whole(instr, ""), value);
  }
}

std::string CppPrinter::store_element(const Instr& instr, const std::string& at, const std::string& value) const {
  const std::string memory = array(instr);
  if (!in_local(instr) && is_low_precision(instr.type))
    return fmt::format("store_{}({} + {}, {})", name(instr.type), memory, at, value);
  if (in_local(instr)) {
    const std::string_view minus = instr.type == DType::boolean ? "-" : "";
    return fmt::format("{}[{}] = {}{}", memory, at, minus, value);
  }
  const std::string cast = size_of(instr.type) < 4 ? fmt::format("({})", memory_type(instr.type)) : "";
  return fmt::format("{}[{}] = {}{}", memory, at, cast, value);
}

void CppPrinter::store_by_lane(const Instr& instr) {
  std::string condition, value = scalar(instr.b);
  if (instr.c != kNone)
    condition = fmt::format("if ({}) ", varying(instr.c) ? scalar(instr.c) + "[l]" : scalar(instr.c));
  if (varying(instr.b)) value = instr.type == DType::boolean ? fmt::format("(r{}[l] & 1)", instr.b) : value + "[l]";
  line("for (long l = 0; l < {}; ++l) {}{};", lane_count(), condition, store_element(instr, lane_index(instr), value));
}

}  // namespace kb::cpp
