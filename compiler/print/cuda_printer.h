// CudaPrinter does the work of print_cuda() in cuda.h. Its statements are in cuda.cpp, its values in cuda_values.cpp,
// its loads and stores in cuda_memory.cpp, its products of matrices in cuda_tiles.cpp.
//
// The body of a lane loop is cut into pieces. Accesses to whole vectors and values that are equal in all lanes are
// printed as plain statements; the instructions between two such statements are a piece, which is printed as one
// unrolled loop over the lanes. A register that is set in one piece and used in another is an array with an element per
// lane.
#pragma once
#include <string>
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
    int piece = 0;  // number of the piece that sets it; 0: none does
    bool array = false;
  };

  // ---- before printing: pieces ----
  RegInfo& reg(Reg r) { return regs_[static_cast<size_t>(r)]; }
  const RegInfo& reg(Reg r) const { return regs_[static_cast<size_t>(r)]; }
  bool whole_vector(const Instr& instr) const;
  bool by_lane(const Instr& instr) const;
  // Whether the statement may be printed before the piece that it is found in, which then need not end there.
  bool moves_up(const Instr& instr) const;
  void find_pieces(const std::vector<Instr>& body, bool in_lanes);
  void note_uses(const Instr& instr, int piece);

  // ---- text ----
  // Returns the register as its variable keeps it: bf16, f16 and narrow integers have their types in memory.
  std::string kept(Reg r) const;
  std::string kept(Reg r, bool) const override { return kept(r); }
  // Gives the register as an operand of arithmetic: bf16 and f16 converted to float, narrow integers promoted.
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
  void accumulators(const Instr& instr);
  void block_storage(const Instr& instr);
  std::string matrix(int32_t local, Reg number) const;
  void barrier() override { line("__syncthreads();"); }
  void tile(const Instr& instr) override;

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
  void store_bits(const Instr& instr) override;

  std::vector<RegInfo> regs_;
  std::unordered_map<const Instr*, int> pieces_;  // number of the piece of each instruction that is printed per lane
  std::unordered_set<const Instr*> moved_up_;     // instructions printed before the piece that they are found in
  int piece_count_ = 0;
  int64_t storage_used_ = 0;  // bytes of the block storage that is given at launch
  int64_t lanes_ = 1;
  Reg lane_ = kNone;   // variable of the lane loop that is being printed
  std::string valid_;  // its number of valid lanes; empty: all
};

}  // namespace kb::cuda
