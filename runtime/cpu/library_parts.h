// Parts that the two libraries inside library.h share: shards, scratch, packed weights, changes of layout. No other
// file includes it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/library_op.h"
#include "runtime/library_spec.h"

namespace kb {

// Returns where shard `shard` begins when `count` items are cut into `shards` contiguous parts, whose sizes differ by
// at most one.
inline int64_t shard_bound(int64_t count, int64_t shards, int64_t shard) { return count * shard / shards; }

// Calls body(shard) for every shard, on the threads of the pool.
template <class F>
void each_shard(Pool& pool, int64_t shards, F&& body) {
  pool.parallel(shards, [&](int64_t begin, int64_t end, int) {
    for (int64_t shard = begin; shard < end; ++shard) body(shard);
  });
}

// Parts of one scratch block; each is aligned to a cache line.
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
template <class T>
T* at(void* base, size_t offset) {
  return reinterpret_cast<T*>(at(base, offset));
}

// The places of the elements of canonical (groups, O, I, taps) weights in another form. In every blocked form a place
// is the sum of one term for each index. O and I are padded to what the form holds, with zeros.
struct WeightLayout {
  DType dtype = DType::f32;
  int64_t groups = 1, outputs = 1, inputs = 1, taps = 1;  // outputs and inputs are those of one group
  std::vector<int64_t> group_at = {}, output_at = {}, input_at = {}, tap_at = {};  // lengths include padding
  int64_t elements = 0;    // number of elements, padding included
  bool canonical = false;  // true: the form is PyTorch's
  // Returns the bytes of weights in this form, rounded up to a cache line.
  size_t bytes() const { return static_cast<size_t>(elements * size_of(dtype) + 63) / 64 * 64; }

  static WeightLayout plain(const ConvSpec& spec, DType dtype);
  // Returns the extents of the weights of `spec`; the places are empty.
  static WeightLayout extents(const ConvSpec& spec, DType dtype);
};

// Returns at(0), at(1) ... at(count - 1).
template <class F>
std::vector<int64_t> places(int64_t count, F&& at) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(at(i));
  return result;
}

// Makes an op: in = {canonical weights of `dtype`}, out = {weights in `layout`}, whose dtype is the same or f32.
std::unique_ptr<LibraryOp> make_pack(WeightLayout layout, DType dtype);
// Writes to `out`, in canonical order, the sum in order of `count` arrays in `layout`, which are layout.bytes() apart.
void sum_partials(Pool& pool, const WeightLayout& layout, const void* partials, int64_t count, void* out);

// Computes y = relu(y) for `count` elements of f32 or bf16, as graph/pointwise_ops.inc defines it: NaN stays, where
// oneDNN's own relu gives 0.
void relu_in_place(DType dtype, void* y, int64_t count);

// A change of layout of n samples, from (C/from, H, W, from) to (C/to, H', W', to), in which H' and W' take every
// stride-th row and column.
struct Relayout {
  int64_t channels = 0;
  int64_t from = 0, to = 0;  // channel blocks
  int64_t h = 0, w = 0;      // rows and columns of the source
  int64_t stride[2] = {1, 1};
  size_t element = 4;  // bytes of an element
  int64_t out_h() const { return (h - 1) / stride[0] + 1; }
  int64_t out_w() const { return (w - 1) / stride[1] + 1; }
  size_t out_bytes(int64_t n) const { return static_cast<size_t>(n * channels * out_h() * out_w()) * element; }
  void run(int64_t n, const void* source, void* result) const;
};

// Wraps an op that computes in f32. An input whose `widen` count is not 0 comes in `dtype` and is widened; the first
// `round` elements of the result are rounded to `dtype`, and with 0 it stays f32.
std::unique_ptr<LibraryOp> make_widened(std::unique_ptr<LibraryOp> op, DType dtype, std::vector<int64_t> widen,
                                        int64_t round);

// How a matmul is cut into shards: along the batch, or the rows or columns of c. Small ones are cut less often. Shards
// of fewer rows than `few_rows` multiply so slowly (0.8 of full speed at 32 rows, 0.65 at 16) that columns are cut
// instead, if there are more of them.
struct MatmulCut {
  enum class Axis : uint8_t { batch, m, n } axis = Axis::m;
  std::vector<int64_t> bounds;  // shard s has [bounds[s], bounds[s + 1])
};
MatmulCut cut_matmul(const MatmulSpec& spec, int shards, int64_t few_rows = 32);
// The spec of one shard, and the elements at which its operands begin.
struct MatmulShard {
  MatmulSpec spec;
  int64_t a = 0, b = 0, c = 0, bias = 0;
};
MatmulShard matmul_shard(const MatmulSpec& spec, const MatmulCut& cut, size_t shard);

namespace onednn {
struct Engine;
std::shared_ptr<Engine> make_engine();
std::string name();
std::string instruction_set();            // see LibraryContext::instruction_set
bool computes(DType dtype);               // whether oneDNN computes in this dtype on this processor
bool multiplies(DType dtype, int64_t k);  // whether it multiplies matrices in it, with sums of k products
std::unique_ptr<LibraryOp> plan_conv(Engine& engine, const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(Engine& engine, const MatmulSpec& spec, int shards);
WeightLayout weight_layout(Engine& engine, const ConvSpec& spec);
size_t packed_weight_bytes(Engine& engine, const MatmulSpec& spec, int shards);  // see library.h
std::unique_ptr<LibraryOp> plan_pack_weights(Engine& engine, const MatmulSpec& spec, int shards);
}  // namespace onednn

// Computes convolutions of bf16 in NHWC by the matrix tiles of processors with AMX, where oneDNN is slow: 2.6 takes
// four times as long where a reduction is over 16 channels, twice as long for input gradients with a stride, and up to
// five times for the gradients of 1x1 convolutions' weights. It takes channels in multiples of 16, no dilation and one
// group.
namespace amx {
// Returns whether plan_conv computes this convolution or input gradient, and faster than oneDNN. The answer does not
// depend on the number of samples, bias or ReLU.
bool is_faster(const ConvSpec& spec);
std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards);
WeightLayout weight_layout(const ConvSpec& spec);
// Returns null for what it does not compute. An input that is not finite may reach the gradients of its channel at
// every tap.
std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards);
}  // namespace amx

// Computes 3x3 convolutions of stride 1 and both gradients in f32 with 16 multiplications for the 36 of four pixels, by
// F(2x2, 3x3) of Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks". Rounding errors are relative
// to the 4x4 pixels that four results share. A result that reads an infinite pixel may be NaN, and such an input may
// reach the gradients of its channel at every tap.
namespace winograd {
// Returns whether the plans below compute this call in the instruction set `isa`, and faster than a direct convolution.
// The answer does not depend on the number of samples, bias or ReLU.
bool is_faster(const ConvSpec& spec, std::string_view isa);
std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards, std::string_view isa);
size_t packed_weight_bytes(const ConvSpec& spec);
// Plans the packing of weights of `dtype`, which are computed with in f32.
std::unique_ptr<LibraryOp> plan_pack_weights(const ConvSpec& spec, DType dtype);
}  // namespace winograd

// Computes the gradient of the weights of a 3x3 convolution on tensors in blocks of 8 channels, on processors with
// AVX2. oneDNN's kernels for it (2.6 and 3.13) reach half to two thirds of the multiply rate there, these 69 to 92 %.
namespace avx2 {
// Returns null unless `spec` has f32, stride 1 or 2, padding 1, no dilation and one group.
std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards);
}  // namespace avx2

// Computes in f32 and f64, on canonical weights.
namespace eigen {
std::string name();
std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_matmul(const MatmulSpec& spec, int shards);
}  // namespace eigen

}  // namespace kb
