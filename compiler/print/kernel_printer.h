// KernelPrinter holds what the printers of C++ and of CUDA C++ have in common: registers, literals, the walk over
// statements, index arithmetic, and the choice of the function that prints an operation. A Dialect is the table of
// words in which the two languages differ. Each language's printer adds its own part: vectors and tails
// (cpp_printer.h); pieces of lane loops, threads and barriers (cuda_printer.h).
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/kernel_ir.h"
#include "graph/text_buffer.h"

namespace kb::ir {

// The words of one language. Texts that hold {} are format strings of fmt.
struct Dialect {
  struct Special {
    std::string_view nan, infinity, minus_infinity;
  };
  EnumNames<DType> types;                                         // types of elements in memory
  std::string_view narrow_index_type, argument, narrow_argument;  // narrow_: in kernels whose indices have 32 bits
  std::string_view wide_integer;                                  // literal of over 32 bits; empty: like any other
  std::string_view no, yes;                                       // the booleans
  Special f64, f32;
  std::string_view tile;
  std::string_view index_min, index_max;
  bool unrolls;  // loops have a "#pragma unroll N"
};

// Returns the type in which C++ computes on an integer: 32 bits of the same sign where the integer is narrow.
constexpr DType promoted(DType type) {
  if (!is_narrow(type)) return type;
  return is_signed(type) ? DType::i32 : DType::u32;
}

class KernelPrinter {
 public:
  KernelPrinter(const KernelPrinter&) = delete;
  virtual ~KernelPrinter() = default;

 protected:
  KernelPrinter(const Kernel& kernel, const Dialect& dialect);

  // ---- registers ----
  const Instr& definition(Reg r) const { return *definitions_[static_cast<size_t>(r)]; }
  DType type(Reg r) const { return definition(r).type; }
  bool varying(Reg r) const { return r != kNone && definition(r).lane_varying; }
  // These return the register as its variable keeps it, and as an operand of arithmetic. `vector`: the other operands
  // are vectors.
  virtual std::string kept(Reg r, bool vector) const = 0;
  virtual std::string operand(Reg r, bool vector) const = 0;
  virtual void define(const Instr& instr, const std::string& value) = 0;

  // ---- text ----
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    put(text_, format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string_view memory_type(DType type) const;
  std::string literal(DType type, double number, int64_t integer) const;
  // Returns a result of arithmetic, rounded or cut to what a register of this type holds.
  virtual std::string rounded(DType type, const std::string& value) const = 0;

  // ---- statements ----
  void statement(const Instr& instr);
  virtual void block(const std::vector<Instr>& body);
  virtual void loop(const Instr& instr);
  virtual void lane_loop(const Instr& instr) = 0;
  virtual void local(const Instr& instr) = 0;
  virtual void store_bits(const Instr& instr);  // only GPU kernels have this, barrier, last_block and tiles
  virtual void barrier();
  virtual void last_block(const Instr& instr);
  virtual void tile(const Instr& instr);
  virtual void index(const Instr& instr);

  // ---- values ----
  void compute(const Instr& instr);
  virtual void select(const Instr& instr) = 0;
  virtual void invert(const Instr& instr) = 0;
  // These print an operation on arguments of type `t`: a call of a prelude's function, a comparison, and arithmetic on
  // floats and on integers.
  virtual void call(const Instr& instr, DType t);
  virtual void compare(const Instr& instr, DType t);
  virtual void real(const Instr& instr, DType t) = 0;
  virtual void integer(const Instr& instr, DType t) = 0;
  virtual void bitcast(const Instr& instr);
  virtual void convert(const Instr& instr) = 0;

  // ---- memory ----
  virtual void load(const Instr& instr) = 0;
  virtual void store(const Instr& instr) = 0;
  bool in_local(const Instr& instr) const { return instr.code == Code::local_load || instr.code == Code::local_store; }
  std::string array(const Instr& instr) const { return fmt::format("{}{}", in_local(instr) ? 'l' : 'b', instr.buffer); }

  const Kernel& kernel_;
  std::string text_;
  int depth_ = 0;

 private:
  void find_definitions(const std::vector<Instr>& body);

  const Dialect& dialect_;
  std::vector<const Instr*> definitions_;
};

}  // namespace kb::ir
