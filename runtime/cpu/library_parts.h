// Below library.h, shared by its two libraries: shards, scratch, packed weights, changes of layout. Nobody else
// includes it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cpu/library_op.h"
#include "runtime/library_spec.h"

namespace kb {

// The bounds of shard `shard` of `count` items in `shards` parts: contiguous, sizes differ by at most one.
inline int64_t shard_bound(int64_t count, int shards, int shard) { return count * shard / shards; }

// Parts of one scratch block, each aligned to a cache line.
class ScratchLayout {
 public:
  size_t add(size_t bytes) {
    const size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

inline char* at(void* base, size_t offset) { return static_cast<char*>(base) + offset; }
inline const char* at(const void* base, size_t offset) { return static_cast<const char*>(base) + offset; }

// The places of the elements of canonical (groups, O, I, taps) weights in another form. Every blocked form is
// separable: a place is the sum of one term for each index. O and I are padded to what the form holds; padding is zero.
struct WeightLayout {
  DType dtype = DType::f32;
  int64_t groups = 1, outputs = 1, inputs = 1, taps = 1;       // O and I of one group
  std::vector<int64_t> group_at, output_at, input_at, tap_at;  // padded lengths
  int64_t elements = 0;                                        // padding included
  bool canonical = false;                                      // this form is PyTorch's
  // Bytes of weights in this form, rounded up to a cache line.
  size_t bytes() const { return static_cast<size_t>(elements * size_of(dtype) + 63) / 64 * 64; }

  static WeightLayout plain(const ConvSpec& spec, DType dtype);
};

// in = {canonical weights of dtype `source`}, out = {weights in `layout`, rounded to `precision`}.
std::unique_ptr<LibraryOp> make_pack(WeightLayout layout, DType source, DType precision);
// out (canonical) = the sum, in order, of `count` arrays in `layout`, which lie layout.bytes() apart.
void sum_partials(Pool& pool, const WeightLayout& layout, const void* partials, int64_t count, void* out);

// y = relu(y) for `count` elements of f32 or bf16, as graph/pointwise_ops.inc has it: NaN stays, which oneDNN's own
// relu makes 0.
void relu_in_place(DType dtype, void* y, int64_t count);

// A change of layout: from n samples (C/from, H, W, from) to (C/to, H', W', to), where H' and W' take every stride-th
// row and column.
struct Relayout {
  int64_t channels = 0;
  int64_t from = 0, to = 0;  // blocks
  int64_t h = 0, w = 0;      // of the source
  int64_t stride[2] = {1, 1};
  size_t element = 4;  // bytes
  int64_t out_h() const { return (h - 1) / stride[0] + 1; }
  int64_t out_w() const { return (w - 1) / stride[1] + 1; }
  size_t out_bytes(int64_t n) const { return static_cast<size_t>(n * channels * out_h() * out_w()) * element; }
  void run(int64_t n, const void* source, void* result) const;
};

// Wraps an op that computes in f32: inputs whose `widen` count is not 0 come in `dtype` and are widened; so is the
// result (of `round` elements, 0: it stays f32).
std::unique_ptr<LibraryOp> make_widened(std::unique_ptr<LibraryOp> op, DType dtype, std::vector<int64_t> widen,
                                        int64_t round);

// One matmul's cut into shards: along the batch, the rows or the columns of c; small ones are cut less often.
struct MatmulCut {
  enum class Axis : uint8_t { batch, m, n } axis = Axis::m;
  std::vector<int64_t> bounds;  // of the shards: bounds[s] .. bounds[s + 1]
};
MatmulCut cut_matmul(const MatmulSpec& spec, int shards);
// The spec of one shard, and where its operands begin, in elements.
struct MatmulShard {
  MatmulSpec spec;
  int64_t a = 0, b = 0, c = 0, bias = 0;
};
MatmulShard matmul_shard(const MatmulSpec& spec, const MatmulCut& cut, size_t shard);

namespace onednn {
struct Engine;
std::shared_ptr<Engine> make_engine();
std::string name();
std::string instruction_set();  // as LibraryContext has it
bool computes(DType dtype);     // on this processor
std::unique_ptr<LibraryOp> plan_conv(Engine& engine, const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(Engine& engine, const MatmulSpec& spec, int shards);
WeightLayout weight_layout(Engine& engine, const ConvSpec& spec);
}  // namespace onednn

// f32 and f64; canonical weights.
namespace eigen {
std::string name();
std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(const MatmulSpec& spec, int shards);
}  // namespace eigen

}  // namespace kb
