// The products of warpgroups (wgmma) in the emulator: four warps add a product of matrices in shared memory to sums in
// their registers. The matrices are read at the first thread's wait, and must not change until a barrier behind the
// last one's; sums change at the wait of their own thread, which must not touch them from warpgroup_begin() on.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kb::simt {

// A matrix of a product, as its descriptor says (PTX ISA, "Matrix Descriptor Format" of wgmma). An element (i, k) is
// element k of the depth of row i of A or of column i of B.
class DescribedMatrix {
 public:
  static constexpr uint32_t kDepth = 16, kGroup = 8;  // a group is 8 elements of one row in 16 bytes

  DescribedMatrix(uint64_t descriptor, bool transposed) : bits_(descriptor), transposed_(transposed) {}
  // Returns why the hardware does not take it, or "".
  std::string wrong() const;
  struct Group {
    uint32_t address;  // address in the window of shared memory
    uint32_t i, k;     // its first element
    uint32_t di, dk;   // from an element of the group to the next
  };
  // Calls body for each group of elements (i, k) with i < extent.
  void each_group(uint32_t extent, const std::function<void(const Group&)>& body) const;

 private:
  uint32_t field(int first) const { return static_cast<uint32_t>(bits_ >> first & 0x3fff) << 4; }  // bytes
  uint32_t groups() const;  // their number in a row of a panel; 1: the panels are not swizzled
  uint32_t address(uint32_t i, uint32_t k) const;

  uint64_t bits_;
  bool transposed_;
};

// All threads of a warpgroup give the same product.
struct WarpgroupProduct {
  static constexpr uint32_t kRows = 64;
  void each_group(const std::function<void(const DescribedMatrix::Group&)>& body) const;
  uint64_t a = 0, b = 0;  // descriptors
  uint32_t columns = 0;
  bool a_transposed = false, b_transposed = false, f16 = false;
  friend bool operator==(const WarpgroupProduct&, const WarpgroupProduct&) = default;
};

// Reads and watches shared memory for a product.
class ProductMemory {
 public:
  // Notes that a product which begins will read the group at an address of the window. Returns what is wrong, or "".
  virtual std::string begin_read(uint32_t address) = 0;
  virtual std::array<uint16_t, DescribedMatrix::kGroup> read(uint32_t address) const = 0;
  // Notes that the product is done.
  virtual void end_read(uint32_t address) = 0;

 protected:
  ~ProductMemory() = default;
};

class Warpgroups {
 public:
  static constexpr uint32_t kThreads = 128;

  explicit Warpgroups(size_t threads) : threads_(threads), groups_(threads / kThreads) {}

  // Forgets all products, for another block.
  void clear();
  // These are a thread's warpgroup_begin(), warpgroup_multiply_add() and warpgroup_end(). They return what is wrong.
  void begin(uint32_t thread, std::span<const float> sums) { threads_[thread].sums = sums; }
  std::string multiply(uint32_t thread, float* sums, const WarpgroupProduct& product, ProductMemory& memory);
  void end(uint32_t thread, ProductMemory& memory);
  // Returns whether the address is that of sums between the thread's warpgroup_begin() and warpgroup_end().
  bool holds(uint32_t thread, const void* at) const;
  bool under_way(uint32_t thread) const { return !threads_[thread].open.empty(); }
  // Returns what is wrong at a barrier or the end of a block, where all threads of a warpgroup have begun the same
  // products.
  std::string meet();

 private:
  struct Open {
    size_t number;  // index of the group's product
    float* sums;
  };
  struct Thread {
    std::span<const float> sums;  // those that products may add to; empty but between begin() and end()
    size_t begun = 0;             // products
    std::vector<Open> open;
  };
  struct Begun {
    WarpgroupProduct product;
    std::vector<double> values;  // row by row; empty until the first thread's wait
    uint32_t waited = 0;         // threads
  };

  static std::vector<double> multiplied(const WarpgroupProduct& product, const ProductMemory& memory);

  std::vector<Thread> threads_;
  std::vector<std::vector<Begun>> groups_;  // products of each warpgroup since the last clear()
};

}  // namespace kb::simt
