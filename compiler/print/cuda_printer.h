// The printer behind cuda.h: statements in cuda.cpp, values in cuda_values.cpp, loads and stores in
// cuda_memory.cpp.
//
// A lane loop becomes pieces: whole-vector accesses and what is the same for all lanes as plain statements, everything
// between as one unrolled loop over the lanes. A register that is set in one piece and used in another is an array.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/print/kernel_printer.h"

namespace kb::cuda {

using namespace ir;

class CudaPrinter : public KernelPrinter {
 public:
  explicit CudaPrinter(const Kernel& kernel);
  std::string print();

 private:
  struct RegInfo {
    int piece = 0;  // in which it is set; 0: outside of all
    bool array = false;
  };

  // ---- before printing: pieces ----
  RegInfo& reg(Reg r) { return regs_[static_cast<size_t>(r)]; }
  const RegInfo& reg(Reg r) const { return regs_[static_cast<size_t>(r)]; }
  bool whole_vector(const Instr& instr) const;
  bool by_lane(const Instr& instr) const;
  // Whether it may stand before the piece it is found in.
  bool moves_up(const Instr& instr) const;
  void find_pieces(const std::vector<Instr>& body, bool in_lanes);
  void note_uses(const Instr& instr, int piece);

  // ---- text ----
  // A register as it is kept: bf16, f16 and u8 in their memory form.
  std::string kept(Reg r) const;
  std::string kept(Reg r, bool) const override { return kept(r); }
  // Gives the register as an operand of arithmetic: bf16 and f16 converted to float, u8 to u32.
  std::string operand(Reg r) const;
  std::string operand(Reg r, bool) const override { return operand(r); }
  std::string low_literal(DType type, double number) const;
  std::string rounded(DType type, const std::string& value) const override;
  void define(const Instr& instr, const std::string& value) override;

  // ---- structure ----
  void parameters();
  void block(const std::vector<Instr>& body) override;
  void loop(const Instr& instr) override;
  void thread_loop(const Instr& instr);
  void lane_loop(const Instr& instr) override;
  void lane_block(const std::vector<Instr>& body);
  struct Piece {
    int number = 0;
    std::string text;
  };
  void close(Piece& piece);
  void last_block(const Instr& instr) override;
  void local(const Instr& instr) override;
  void barrier() override { line("__syncthreads();"); }

  // ---- values ----
  void select(const Instr& instr) override;
  void invert(const Instr& instr) override;
  bool compares_integers(Reg condition) const;
  void call(const Instr& instr, DType t) override;
  void real(const Instr& instr, DType t) override;
  void integer(const Instr& instr, DType t) override;
  void shift(const Instr& instr, DType t);
  void convert(const Instr& instr) override;
  std::string converted(const Instr& instr) const;

  // ---- memory ----
  std::string element(const Instr& instr) const;
  std::string place(const Instr& instr) const;
  std::string tail() const { return valid_.empty() ? "" : ", " + valid_; }
  void load(const Instr& instr) override;
  void load_vector(const Instr& instr);
  void store(const Instr& instr) override;
  void store_vector(const Instr& instr);

  std::vector<RegInfo> regs_;
  std::unordered_map<const Instr*, int> pieces_;  // of what is printed by lane
  std::unordered_set<const Instr*> moved_up_;     // printed before the piece around
  int piece_count_ = 0;
  int64_t lanes_ = 1;
  Reg lane_ = kNone;   // variable of the lane loop around
  std::string valid_;  // its number of valid lanes; empty: all
};

}  // namespace kb::cuda
