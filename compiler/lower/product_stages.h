// A product of matrices goes through its depth in parts. Copies of the next parts to block storage are under way while
// one is multiplied: a ring of stages has room for them.
#pragma once
#include <functional>

#include "compiler/kernel/builder.h"
#include "compiler/target.h"

namespace kb {

inline constexpr int64_t kProductPad = 8;  // free elements behind a row of a result in block storage, whose rows
                                           // then begin in other banks

// How a product goes through its depth.
struct ProductParts {
  int64_t depth = 0;   // elements of the depth in a part
  int64_t stages = 0;  // parts in block storage: one at work, the others under way
};

// Returns the parts for a tile of `columns` columns. Warpgroups are done with a narrow tile's part of 32 before the
// barrier and the copies around it are; two blocks have room for stages of 64.
inline ProductParts parts_of(const Target& target, bool by_warpgroups, int64_t columns) {
  return {by_warpgroups && columns <= 64 ? 64 : 32, target.product_stages};
}

// Block storage for the parts of one matrix. A transposed one lies by rows of the depth, of which a warpgroup
// multiplies `columns` columns at once.
class ProductRing {
 public:
  ProductRing() = default;
  ProductRing(ir::Builder& b, DType type, int64_t extent, const ProductParts& parts)
      : stages_(parts.stages), local_(b.matrices(type, parts.stages, extent, parts.depth, parts.depth)) {}
  static ProductRing transposed(ir::Builder& b, DType type, int64_t extent, const ProductParts& parts,
                                int64_t columns) {
    ProductRing ring;
    ring.stages_ = parts.stages;
    ring.transposed_ = true;
    ring.local_ = b.matrices(type, parts.stages, parts.depth, extent, columns);
    return ring;
  }

  // Returns the matrix in the stage of part `number`.
  ir::Matrix at(ir::Builder& b, ir::Reg number) const { return {local_, b.mod(number, b.index(stages_)), transposed_}; }

 private:
  int64_t stages_ = 0;
  bool transposed_ = false;
  ir::Local local_;
};

// Begins the copies of `parts` parts in their order, each by `copy`.
class ProductCopies {
 public:
  using Copy = std::function<void(ir::Reg number)>;
  ProductCopies(ir::Builder& b, int64_t stages, ir::Reg parts, Copy copy)
      : b_(b), stages_(stages), parts_(parts), copy_(std::move(copy)) {
    for (int64_t number = 0; number < stages_ - 1; ++number) begin(b_.index(number));
  }

  // Waits for part `number`, and begins the copy into the stage of the part before it. The wait is also the barrier
  // behind the product that read that stage.
  void wait_for(ir::Reg number) {
    b_.tile_wait(stages_ - 2);
    begin(b_.add(number, b_.index(stages_ - 1)));
  }

 private:
  void begin(ir::Reg number) {
    b_.branch(b_.less(number, parts_), [&] { copy_(number); });
    b_.tile_group();
  }

  ir::Builder& b_;
  int64_t stages_;
  ir::Reg parts_;
  Copy copy_;
};

}  // namespace kb
