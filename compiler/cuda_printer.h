// The printer behind print_cuda.h: statements in print_cuda.cpp, values in print_cuda_values.cpp, loads and stores in
// print_cuda_memory.cpp.
//
// A lane loop becomes pieces: whole-vector accesses and what is the same for all lanes as plain statements, everything
// between as one unrolled loop over the lanes. A register that is set in one piece and used in another is an array.
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/kernel_ir.h"

namespace kb::cuda {

using namespace ir;

class CudaPrinter {
 public:
  explicit CudaPrinter(const Kernel& kernel);
  std::string print();

 private:
  struct RegInfo {
    const Instr* instr = nullptr;
    int piece = 0;  // in which it is set; 0: outside of all
    bool array = false;
  };

  // ---- before printing: pieces ----
  RegInfo& reg(Reg r) { return regs_[static_cast<size_t>(r)]; }
  const RegInfo& reg(Reg r) const { return regs_[static_cast<size_t>(r)]; }
  DType type(Reg r) const { return reg(r).instr->type; }
  bool varying(Reg r) const { return r != kNone && reg(r).instr->lane_varying; }
  bool whole_vector(const Instr& instr) const;
  bool by_lane(const Instr& instr) const;
  // Whether it may stand before the piece it is found in.
  bool moves_up(const Instr& instr) const;
  void find_registers(const std::vector<Instr>& body);
  void find_pieces(const std::vector<Instr>& body, bool in_lanes);
  void note_uses(const Instr& instr, int piece);

  // ---- text ----
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string_view c_type(DType type) const;
  std::string literal(DType type, double number, int64_t integer) const;
  // A register as it is kept: bf16, f16 and u8 in their memory form.
  std::string kept(Reg r) const;
  // Gives the register as an operand of arithmetic: bf16 and f16 converted to float, u8 to u32.
  std::string operand(Reg r) const;
  std::string low_literal(DType type, double number) const;
  std::string as_kept(DType type, const std::string& value) const;
  void define(const Instr& instr, const std::string& value);

  // ---- structure ----
  void parameters();
  void block(const std::vector<Instr>& body);
  void statement(const Instr& instr);
  void loop(const Instr& instr);
  void thread_loop(const Instr& instr);
  void lane_loop(const Instr& instr);
  void lane_block(const std::vector<Instr>& body);
  struct Piece {
    int number = 0;
    std::string text;
  };
  void close(Piece& piece);
  void last_block(const Instr& instr);
  void local(const Instr& instr);
  void index(const Instr& instr);

  // ---- values ----
  void compute(const Instr& instr);
  bool compares_integers(Reg condition) const;
  void call(const Instr& instr, DType t);
  void real(const Instr& instr, DType t);
  void integer(const Instr& instr, DType t);
  void shift(const Instr& instr, DType t);
  void bitcast(const Instr& instr);
  std::string convert(const Instr& instr) const;

  // ---- memory ----
  bool in_local(const Instr& instr) const { return instr.code == Code::local_load || instr.code == Code::local_store; }
  std::string array(const Instr& instr) const { return fmt::format("{}{}", in_local(instr) ? 'l' : 'b', instr.buffer); }
  std::string element(const Instr& instr) const;
  std::string place(const Instr& instr) const;
  std::string tail() const { return valid_.empty() ? "" : ", " + valid_; }
  void load(const Instr& instr);
  void load_vector(const Instr& instr);
  void store(const Instr& instr);
  void store_vector(const Instr& instr);

  const Kernel& kernel_;
  std::vector<RegInfo> regs_;
  std::unordered_map<const Instr*, int> pieces_;  // of what is printed by lane
  std::unordered_set<const Instr*> moved_up_;     // printed before the piece around
  int piece_count_ = 0;
  std::string text_;
  int depth_ = 0;
  int64_t lanes_ = 1;
  Reg lane_ = kNone;   // variable of the lane loop around
  std::string valid_;  // its number of valid lanes; empty: all
};

}  // namespace kb::cuda
