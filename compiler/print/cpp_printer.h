// CppPrinter does the work of print_cpp() in cpp.h. Its statements are in cpp.cpp, its values in cpp_values.cpp, its
// loads and stores in cpp_memory.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/print/kernel_printer.h"

namespace kb::cpp {

using namespace ir;

constexpr int kLanes = 16;

// Returns the type of the C++ variable that holds a register: bf16 and f16 are held as an f32 of the same value, narrow
// integers in 32 bits, and booleans as an int that is 0 or 1 (in a lane of a vector: 0 or -1).
DType variable_type(DType type);
// True for types whose elements memory keeps as the bits of an unsigned number; the prelude's to_NAME rounds to one.
constexpr bool is_encoded(DType type) { return is_low_precision(type) || (is_narrow(type) && is_signed(type)); }
inline bool is_wide(DType type) { return type == DType::f64 || type == DType::i64; }

// Facts about a register that are known before anything is printed. A lane-varying index that is base + lane * stride
// with uniform base and stride is printed as these two scalars: `rN` and `stride`.
struct RegInfo {
  bool strided = false;
  int uses = 0;
  int rounding_stores = 0;      // uses by stores that round: see rounds_when_stored
  DType exact_in = DType::f64;  // bf16 or f16 if that type is known to hold the value exactly; f64 if not
  std::string stride = "0";
};

class CppPrinter : public KernelPrinter {
 public:
  CppPrinter(const ir::Kernel& kernel, int vector_bytes);
  std::string print();

 private:
  // ---- before printing: which indices are strided, and whether any lane needs 64 bits ----
  RegInfo& reg(Reg r) { return regs_[static_cast<size_t>(r)]; }
  const RegInfo& reg(Reg r) const { return regs_[static_cast<size_t>(r)]; }
  // Whether the index is base + lane * stride; a uniform register is, with stride 0.
  bool affine(Reg r) const { return r == kNone || !varying(r) || reg(r).strided; }
  bool is_strided(const Instr& instr) const;
  // Whether the instruction is `index < bound` with an index of stride 1. Every mask by position has this form, and it
  // holds in the first lanes only.
  bool is_prefix(const Instr& instr) const;
  bool unit_stride(Reg r) const;
  bool converts_stride(const Instr& instr) const;
  // A contiguous store of a vector just rounded to bf16 or f16 rounds and narrows in one go.
  bool rounds_when_stored(const Instr& store) const;
  DType exact_type(const Instr& instr) const;
  bool is_exact(Reg r, DType type) const;
  void count_uses(const Instr& instr);
  void analyse(const std::vector<Instr>& body, bool& wide);

  // ---- text ----
  std::string vector_type(DType t) const { return fmt::format("{}x{}", name(variable_type(t)), lanes_); }
  std::string memory_vector(DType t) const;
  std::string c_type(DType t, bool vector) const;
  std::string scalar(Reg r) const;
  // `vector`: the other operands are vectors, so the value of a uniform register is spread over the lanes.
  std::string operand(Reg r, bool vector) const override;
  std::string kept(Reg r, bool vector) const override { return operand(r, vector); }
  // Gives the register as an operand of an infix operator: GCC itself broadcasts a scalar beside a vector there.
  std::string loose(Reg r) const { return operand(r, varying(r)); }
  std::string rounded(DType t, const std::string& value) const override;
  void define(const Instr& instr, const std::string& value) override;

  // ---- structure ----
  void phase(const Phase& phase, size_t number);
  // Prints the loop over 16 valid lanes and, where fewer may be valid, a second form of it for the tail. Up to two
  // vectors are written out one after the other, with constant numbers of their first lanes, so that local arrays which
  // the body indexes by lane can live in registers; more vectors become a C++ loop.
  void lane_loop(const Instr& instr) override;
  void parts(const Instr& instr, const std::string& valid);
  // Prints the lanes [first, first + lanes_) as one vector; in a tail only the lanes below `valid` count.
  void part(const Instr& instr, const std::string& first, const std::string& valid);
  void local(const Instr& instr) override;

  // ---- index arithmetic ----
  void index(const Instr& instr) override;
  void less(const Instr& instr);
  const std::string& stride(Reg r) const { return reg(r).stride; }
  // Prints the base and the stride of a strided result. The stride of a uniform operand is "0".
  void strided(const Instr& instr);

  // ---- values ----
  void select(const Instr& instr) override;
  void invert(const Instr& instr) override;
  void call(const Instr& instr, DType t) override;
  void compare(const Instr& instr, DType t) override;
  void real(const Instr& instr, DType t) override;
  // Signed arithmetic wraps, so it is written in unsigned numbers; narrow integers are cut to their bits.
  void integer(const Instr& instr, DType t) override;
  std::string cut(DType t, const std::string& value, bool fits) const;
  // Returns the number of a narrow type that the low bits of `value`, a promoted expression, stand for.
  std::string low_bits(DType t, const std::string& value) const;
  // A shift by the width or more gives the result of as many shifts by one bit.
  void shift(const Instr& instr, DType t);
  void bitcast(const Instr& instr) override;
  void convert(const Instr& instr) override;
  std::string converted(const Instr& instr) const;
  std::string convert_scalar(const std::string& a, DType from, DType to) const;
  std::string convert_vector(Reg r, DType from, DType to) const;

  // ---- memory ----
  // These return the index of the part's first lane, and of its lane `l`, which is a variable of the printed loop.
  std::string first_index(const Instr& instr) const;
  std::string lane_index(const Instr& instr) const;
  std::string place(const Instr& instr) const;
  // Returns the element at index `at` in the form of a scalar register.
  std::string element(const Instr& instr, const std::string& at) const;
  // These turn a vector from its form in memory into that of a register, and back.
  std::string widened(const Instr& instr, const std::string& value) const;
  std::string narrowed(const Instr& store) const;
  std::string whole(const Instr& instr, std::string_view qualifier) const;
  void load(const Instr& instr) override;
  std::string splat_number(const Instr& instr) const;
  std::string lane_count() const { return tail_ ? "n" : std::to_string(lanes_); }
  void load_by_lane(const Instr& instr);
  void store(const Instr& instr) override;
  bool can_stream(DType t) const { return vector_bytes_ > 16 && lanes_ * size_of(t) >= 16; }
  std::string store_element(const Instr& instr, const std::string& at, const std::string& value) const;
  void store_by_lane(const Instr& instr);

  int vector_bytes_;
  int lanes_ = kLanes;
  std::vector<RegInfo> regs_;
  std::vector<bool> uses_buffer_;
  bool uses_arguments_ = false;
  std::string first_ = "0";  // lane of the loop at which the vector being printed begins
  bool tail_ = false;
};

}  // namespace kb::cpp
