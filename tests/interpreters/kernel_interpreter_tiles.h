// Runs KernelIR's products of matrices, for which a whole block works together, by plain loops in double.
#pragma once
#include <vector>

#include "tests/interpreters/accesses.h"

namespace kb::ir {

// Gives these instructions what they need of the interpreter that runs the kernel.
class TileHost {
 public:
  virtual Scalar read(const Instr& instr, int64_t element) = 0;  // from the instruction's buffer, checked
  virtual int64_t integer(Reg reg) = 0;
  virtual LocalArray& array(int32_t number) = 0;
  virtual Stamp& now() = 0;
  [[noreturn]] virtual void fault(char space, int32_t array, int64_t element, const char* what) const = 0;

 protected:
  ~TileHost() = default;
};

class Tiles {
 public:
  Tiles(const Kernel& kernel, TileHost& host) : kernel_(kernel), host_(host) {}

  void execute(const Instr& instr);
  // Ends a tile of a phase. Throws InternalError if copies are under way.
  void end() const;

 private:
  struct Arrival {
    int32_t local;
    int64_t element;
    Scalar value;
  };
  using Group = std::vector<Arrival>;

  void copy(const Instr& instr);
  void wait(int64_t under_way);
  void multiply(const Instr& instr);
  void store(const Instr& instr);
  // Notes an access to an element of a local array, and returns the array.
  LocalArray& checked(int32_t number, int64_t element, const char* (*note)(Cell&, const Stamp&));
  // Returns the rows of a matrix one after another; of a transposed one, its columns.
  std::vector<double> matrix(int32_t local, int64_t number, bool transposed);

  const Kernel& kernel_;
  TileHost& host_;
  std::vector<Group> groups_;  // groups that are under way, the oldest first
  Group open_;                 // copies that no tile_group has ended
  int32_t executed_ = 0;
};

}  // namespace kb::ir
