// CudaPrinter's loads and stores of whole vectors and of single elements.
#include "compiler/print/cuda_printer.h"

namespace kb::cuda {

std::string CudaPrinter::element(const Instr& instr) const {
  const std::string at = kept(instr.a);
  if (instr.access != Access::contiguous) return fmt::format("{}[{}]", array(instr), at);
  return at == "0" ? fmt::format("{}[l]", array(instr)) : fmt::format("{}[{} + l]", array(instr), at);
}

std::string CudaPrinter::place(const Instr& instr) const {
  const std::string at = kept(instr.a);
  return at == "0" ? array(instr) : fmt::format("{} + {}", array(instr), at);
}

void CudaPrinter::load(const Instr& instr) {
  if (whole_vector(instr)) return load_vector(instr);
  if (instr.b == kNone) return define(instr, element(instr));
  const std::string other = rounded(instr.type, literal(instr.type, instr.number, 0));
  define(instr, fmt::format("{} ? {} : {}", kept(instr.b), element(instr), other));
}

void CudaPrinter::load_vector(const Instr& instr) {
  line("{} r{}[{}];", memory_type(instr.type), instr.dst, lanes_);
  const std::string read = fmt::format("load(r{}, {}{});", instr.dst, place(instr), tail());
  if (instr.b == kNone) return line("{}", read);
  const std::string other = rounded(instr.type, literal(instr.type, instr.number, 0));
  line("if ({}) {} else fill(r{}, {});", kept(instr.b), read, instr.dst, other);
}

void CudaPrinter::store(const Instr& instr) {
  if (whole_vector(instr)) return store_vector(instr);
  const std::string condition = instr.c == kNone ? "" : fmt::format("if ({}) ", kept(instr.c));
  line("{}{} = {};", condition, element(instr), kept(instr.b));
}

void CudaPrinter::store_vector(const Instr& instr) {
  const std::string condition = instr.c == kNone ? "" : fmt::format("if ({}) ", kept(instr.c));
  if (varying(instr.b)) return line("{}store({}, r{}{});", condition, place(instr), instr.b, tail());
  line("{}store_all<{}>({}, {}{});", condition, lanes_, place(instr), kept(instr.b), tail());
}

void CudaPrinter::store_bits(const Instr& instr) {
  const std::string to = fmt::format("b{}[{}]", instr.buffer, kept(instr.a));
  if (varying(instr.b)) return line("{} = packed(r{});", to, instr.b);
  line("{} = {} ? 255 : 0;", to, kept(instr.b));
}

}  // namespace kb::cuda
