// A product of matrices goes through its depth in parts. Copies of the next parts to block storage are under way while
// one is multiplied: a ring of stages has room for them.
#pragma once
#include <functional>

#include "compiler/kernel/builder.h"

namespace kb {

inline constexpr int64_t kProductDepth = 32;  // elements of the depth in a part
inline constexpr int64_t kProductStages = 3;  // parts in block storage: one at work, the others under way
inline constexpr int64_t kProductPad = 8;     // free elements behind a row of a result in block storage, whose rows
                                              // then begin in other banks

inline int64_t rounded_up(int64_t extent, int64_t unit) { return (extent + unit - 1) / unit * unit; }

// Block storage for the parts of one matrix. A transposed one lies by rows of the depth, of which a warpgroup
// multiplies `part` columns at once.
class ProductRing {
 public:
  ProductRing() = default;
  ProductRing(ir::Builder& b, DType type, int64_t extent, bool transposed, int64_t part)
      : transposed_(transposed),
        local_(transposed ? b.matrices(type, kProductStages, kProductDepth, extent, part)
                          : b.matrices(type, kProductStages, extent, kProductDepth, kProductDepth)) {}

  // Returns the matrix in the stage of part `number`.
  ir::Matrix at(ir::Builder& b, ir::Reg number) const {
    return {local_, b.mod(number, b.index(kProductStages)), transposed_};
  }

 private:
  bool transposed_ = false;
  ir::Local local_;
};

// Begins the copies of `parts` parts in their order, each by `copy`.
class ProductCopies {
 public:
  using Copy = std::function<void(ir::Reg number)>;
  ProductCopies(ir::Builder& b, ir::Reg parts, Copy copy) : b_(b), parts_(parts), copy_(std::move(copy)) {
    for (int64_t number = 0; number < kProductStages - 1; ++number) begin(b_.index(number));
  }

  // Waits for part `number`, and begins the copy into the stage of the part before it. The wait is also the barrier
  // behind the product that read that stage.
  void wait_for(ir::Reg number) {
    b_.tile_wait(kProductStages - 2);
    begin(b_.add(number, b_.index(kProductStages - 1)));
  }

 private:
  void begin(ir::Reg number) {
    b_.branch(b_.less(number, parts_), [&] { copy_(number); });
    b_.tile_group();
  }

  ir::Builder& b_;
  ir::Reg parts_;
  Copy copy_;
};

}  // namespace kb
