#include <algorithm>
#include <cstring>

#include "graph/rounding.h"
#include "runtime/cpu/onednn/engine.h"
#include "runtime/cpu/onednn/version.h"

namespace kb::onednn {

namespace {

using dnnl::memory;

memory::desc matrix(DType dtype, int64_t batch, int64_t rows, int64_t columns, int64_t plane, int64_t row_step,
                    int64_t column_step) {
  if (batch == 1) return {{rows, columns}, data_type(dtype), memory::dims{row_step, column_step}};
  return {{batch, rows, columns}, data_type(dtype), memory::dims{plane, row_step, column_step}};
}

// Products of more rows read weights as they are, since a product of so many puts them in order in a small part of its
// time.
constexpr int64_t kMostPackedRows = 128;

DType result_dtype(const MatmulSpec& spec) { return spec.wide ? DType::f32 : spec.dtype; }

// Returns the rows below which cut_matmul cuts columns. oneDNN multiplies shards of 32 to 63 rows of f32 a tenth slower
// than shards of columns where b is not transposed, since each shard of rows packs all of b, and where b is packed, all
// of which then goes through each core's cache.
int64_t few_rows(const MatmulSpec& spec) {
  return spec.packed || (spec.dtype == DType::f32 && !spec.transpose_b) ? 64 : 32;
}

MatmulCut cut(const MatmulSpec& spec, int shards) { return cut_matmul(spec, shards, few_rows(spec)); }

// Returns whether shards write their results without gaps between the rows, to be copied. oneDNN's fast matmul wants
// its operands so. A part of c's columns has gaps; a part of the columns of a transposed or packed b has none.
bool is_dense(const MatmulSpec& spec, const MatmulCut& cut) {
  return cut.axis == MatmulCut::Axis::n && cut.bounds.size() > 2 && spec.batch == 1 &&
         (spec.transpose_b || spec.packed);
}

// An operand that lies as (k, columns): a transposed a, or a b that is not. A shard multiplies some of the columns.
struct Columns {
  int64_t count;      // number of columns of the shard
  int64_t row;        // elements from row to row
  int64_t other;      // number of results that each element enters
  bool lies = false;  // false: it lies as (columns, k)
};

Columns columns_of_a(const MatmulSpec& whole, const MatmulSpec& part) {
  return {part.m, whole.m, part.n, whole.transpose_a};
}
Columns columns_of_b(const MatmulSpec& whole, const MatmulSpec& part) {
  return {part.n, whole.n, part.m, !whole.transpose_b && !whole.packed};
}

// Returns the elements from row to row of a copy of the columns, an odd number of cache lines; 0 where a copy does not
// pay. oneDNN's AVX2 kernel (2.6 and 3.7) reads an operand where it lies unless the product is large, and has half its
// speed where the rows are a multiple of 2 KiB apart, since these share few sets of the nearest cache.
int64_t row_of_copy(const MatmulSpec& part, const Columns& x) {
  constexpr int64_t kFewSets = 512, kLeastUses = 16;
  constexpr int64_t kLarge = 300;  // oneDNN copies both operands itself where 1 / m + 1 / n is below some 1 / kLarge
  const bool pays = x.lies && part.dtype == DType::f32 && part.batch == 1 && x.row % kFewSets == 0 &&
                    x.other >= kLeastUses && part.m * part.n < kLarge * (part.m + part.n) &&
                    instruction_set() == "avx2";
  return pays ? ceil_div(x.count, 32) * 32 + 16 : 0;
}

int64_t row_of(const MatmulSpec& part, const Columns& x) {
  const int64_t copy = row_of_copy(part, x);
  return copy > 0 ? copy : x.row;
}

// Returns the form of the rows and columns of an operand or the result of `part`, one shard of `whole`: it has the
// extents of the part and the strides of the whole.
memory::desc source_of(const MatmulSpec& whole, const MatmulSpec& part) {
  const int64_t row = row_of(part, columns_of_a(whole, part));
  return matrix(whole.dtype, part.batch, part.m, whole.k, whole.m * whole.k, whole.transpose_a ? 1 : whole.k,
                whole.transpose_a ? row : 1);
}

memory::desc plain_weights_of(const MatmulSpec& whole, const MatmulSpec& part) {
  const int64_t row = row_of(part, columns_of_b(whole, part));
  return matrix(whole.dtype, part.batch, whole.k, part.n, whole.k * whole.n, whole.transpose_b ? 1 : row,
                whole.transpose_b ? whole.k : 1);
}

// If `dense`, the result's rows are without gaps.
memory::desc result_of(const MatmulSpec& whole, const MatmulSpec& part, bool dense) {
  return matrix(result_dtype(whole), part.batch, part.m, part.n, whole.m * whole.n, dense ? part.n : whole.n, 1);
}

// Returns the form in which oneDNN wants the weights of some columns of `whole` without a bias. Shards of rows share
// it, however many rows they have.
memory::desc packed_weights_of(Engine& engine, const MatmulSpec& whole, int64_t columns, bool dense) {
  MatmulSpec part = whole;
  part.n = columns;
  const memory::desc any({whole.k, columns}, data_type(whole.dtype), memory::format_tag::any);
  return primitive_desc<dnnl::matmul>(engine.engine, attributes(), source_of(whole, part), any,
                                      result_of(whole, part, dense))
      .weights_desc();
}

// Makes the primitive of `part`, one shard of `whole`. If `create` is false, it makes everything but the code.
std::shared_ptr<Primitive> make(Engine& engine, const MatmulSpec& whole, const MatmulSpec& part, bool dense,
                                bool create) {
  OneThread one;
  auto made = std::make_shared<Primitive>();
  made->source = source_of(whole, part);
  made->weights = whole.packed ? packed_weights_of(engine, whole, part.n, dense) : plain_weights_of(whole, part);
  made->result = result_of(whole, part, dense);
  // The bias is broadcast over the batch and the rows.
  const memory::dims bias = part.batch == 1 ? memory::dims{1, part.n} : memory::dims{1, 1, part.n};
  if (whole.bias) made->bias = matrix(DType::f32, 1, 1, part.n, part.n, part.n, 1).reshape(bias);
  const dnnl::matmul::primitive_desc primitive =
      whole.bias ? primitive_desc<dnnl::matmul>(engine.engine, attributes(), made->source, made->weights, made->bias,
                                                made->result)
                 : primitive_desc<dnnl::matmul>(engine.engine, attributes(), made->source, made->weights, made->result);
  made->implementation = primitive.impl_info_str();
  made->scratchpad = primitive.scratchpad_desc();
  made->scratch = made->scratchpad.get_size();
  if (create) made->primitive = dnnl::matmul(primitive);
  return made;
}

// oneDNN generates the code of its plain product at the first call, in some 20 ms, whatever was planned before. A
// product of two by two makes this happen when planning and not in the first step.
void generate_product() {
  OneThread one;
  const float a[4] = {}, b[4] = {};
  float c[4];
  dnnl_sgemm('N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
}

std::shared_ptr<const Primitive> find_primitive(Engine& engine, const MatmulSpec& whole, const MatmulSpec& part,
                                                bool dense) {
  MatmulSpec common = whole;
  common.batch = part.batch;
  common.relu = false;
  std::shared_ptr<const Primitive>& found = engine.products[{common, part.m, part.n, dense}];
  if (found) return found;
  const auto made = make(engine, whole, part, dense, true);
  if (made->implementation.starts_with("gemm")) generate_product();
  MatmulSpec other = whole;
  other.bias = !whole.bias;
  made->scratch = std::max(made->scratch, make(engine, other, part, dense, false)->scratch);
  return found = made;
}

// The packed weights of one shard, or of all shards of rows.
struct Pack {
  memory::desc from, to;
  int64_t first;  // element of the plain weights at which they begin
  size_t offset;  // bytes at which they begin
};

// Returns the packed weights in order; none where oneDNN has no form of its own for them.
std::vector<Pack> packs_of(Engine& engine, const MatmulSpec& spec, int shards) {
  const MatmulCut parts = cut(spec, shards);
  const size_t count = parts.axis == MatmulCut::Axis::n ? parts.bounds.size() - 1 : 1;
  OneThread one;
  ScratchLayout layout;
  std::vector<Pack> packs;
  for (size_t s = 0; s < count; ++s) {
    const MatmulShard part = matmul_shard(spec, parts, s);
    const memory::desc to = packed_weights_of(engine, spec, part.spec.n, is_dense(spec, parts));
    if (blocking_of(to).inner_blocks.empty()) return {};
    packs.push_back({plain_weights_of(spec, part.spec), to, part.b, layout.add(to.get_size())});
  }
  return packs;
}

class PackOp : public LibraryOp {
 public:
  PackOp(Engine& engine, const std::vector<Pack>& packs, DType dtype) : element_(size_of(dtype)) {
    OneThread one;
    for (const Pack& pack : packs) {
      auto made = std::make_shared<Primitive>();
      const dnnl::reorder::primitive_desc reorder(engine.engine, pack.from, engine.engine, pack.to, attributes());
      made->implementation = reorder.impl_info_str();
      made->primitive = dnnl::reorder(reorder);
      made->scratchpad = reorder.scratchpad_desc();
      Part part{pack, scratch_.add(made->scratchpad.get_size()), Call(engine, made)};
      part.call.add(DNNL_ARG_FROM, pack.from);
      part.call.add(DNNL_ARG_TO, pack.to);
      part.call.add(DNNL_ARG_SCRATCHPAD, made->scratchpad);
      parts_.push_back(std::move(part));
    }
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return parts_[0].call.primitive().implementation; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    each_shard(pool, std::ssize(parts_), [&](int64_t s) {
      Part& part = parts_[static_cast<size_t>(s)];
      part.call.run({at(in[0], part.pack.first * element_), at(out[0], part.pack.offset), at(scratch, part.own)});
    });
  }

 private:
  struct Part {
    Pack pack;
    size_t own;  // offset in scratch of oneDNN's own
    Call call;
  };

  int64_t element_;  // bytes of an element
  ScratchLayout scratch_;
  mutable std::vector<Part> parts_;  // mutable, since a call stores addresses in it
};

class MatmulOp : public LibraryOp {
 public:
  MatmulOp(Engine& engine, const MatmulSpec& spec, int shards)
      : spec_(spec), element_(size_of(spec.dtype)), result_element_(size_of(result_dtype(spec))) {
    const MatmulCut parts = cut(spec, shards);
    dense_ = is_dense(spec, parts);
    const std::vector<Pack> packs = spec.packed ? packs_of(engine, spec, shards) : std::vector<Pack>();
    for (size_t s = 0; s + 1 < parts.bounds.size(); ++s) {
      const MatmulShard part = matmul_shard(spec, parts, s);
      auto primitive = find_primitive(engine, spec, part.spec, dense_);
      Shard shard{part,
                  packs.empty() ? static_cast<size_t>(part.b * element_) : packs[packs.size() > 1 ? s : 0].offset,
                  scratch_.add(primitive->scratch),
                  0,
                  add_copy(columns_of_a(spec, part.spec), part.spec),
                  add_copy(columns_of_b(spec, part.spec), part.spec),
                  Call(engine, primitive)};
      if (dense_) shard.dense = scratch_.add(static_cast<size_t>(part.spec.m * part.spec.n * result_element_));
      shard.call.add(DNNL_ARG_SRC, primitive->source);
      shard.call.add(DNNL_ARG_WEIGHTS, primitive->weights);
      shard.call.add(DNNL_ARG_DST, primitive->result);
      shard.call.add(DNNL_ARG_SCRATCHPAD, primitive->scratchpad);
      if (spec.bias) shard.call.add(DNNL_ARG_BIAS, primitive->bias);
      shards_.push_back(std::move(shard));
    }
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return shards_[0].call.primitive().implementation; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    each_shard(pool, std::ssize(shards_), [&](int64_t s) { run(shards_[s], in, out[0], scratch); });
  }

 private:
  // A copy of an operand's columns; `to_row` is 0 where there is none.
  struct Copy {
    int64_t columns, from_row, to_row;  // number of columns, and elements from row to row
    size_t offset;                      // in scratch
  };
  struct Shard {
    MatmulShard part;
    size_t weights;     // bytes at which its part of b begins
    size_t own, dense;  // offsets in scratch: oneDNN's own, and the dense result
    Copy a, b;
    Call call;
  };

  Copy add_copy(const Columns& x, const MatmulSpec& part) {
    const int64_t row = row_of_copy(part, x);
    return {x.count, x.row, row, row == 0 ? 0 : scratch_.add(static_cast<size_t>(spec_.k * row * element_))};
  }

  // Returns the operand, or its copy, which it makes.
  const void* copied(const Copy& copy, const void* operand, void* scratch) const {
    if (copy.to_row == 0) return operand;
    char* to = at(scratch, copy.offset);
    for (int64_t i = 0; i < spec_.k; ++i)
      std::memcpy(to + i * copy.to_row * element_, at(operand, i * copy.from_row * element_), copy.columns * element_);
    return to;
  }

  void run(Shard& shard, std::span<const void* const> in, void* out, void* scratch) const {
    const void* a = copied(shard.a, at(in[0], shard.part.a * element_), scratch);
    const void* b = copied(shard.b, at(in[1], shard.weights), scratch);
    char* c = at(out, shard.part.c * result_element_);
    const char* result = dense_ ? at(scratch, shard.dense) : c;
    if (spec_.bias)
      shard.call.run({a, b, result, at(scratch, shard.own), at(in[2], shard.part.bias * sizeof(float))});
    else
      shard.call.run({a, b, result, at(scratch, shard.own)});
    const MatmulSpec& part = shard.part.spec;
    const int64_t row = part.n * result_element_;
    if (dense_)
      for (int64_t i = 0; i < spec_.m; ++i) std::memcpy(c + i * spec_.n * result_element_, result + i * row, row);
    if (!spec_.relu) return;
    for (int64_t b = 0; b < part.batch; ++b)
      for (int64_t i = 0; i < part.m; ++i)
        relu_in_place(result_dtype(spec_), c + (b * spec_.m + i) * spec_.n * result_element_, part.n);
  }

  MatmulSpec spec_;
  int64_t element_, result_element_;  // bytes of an element of the inputs, and of the result
  bool dense_ = false;
  ScratchLayout scratch_;
  mutable std::vector<Shard> shards_;  // mutable, since a call stores addresses in it
};

}  // namespace

size_t packed_weight_bytes(Engine& engine, const MatmulSpec& spec, int shards) {
  if (spec.batch > 1 || spec.m > kMostPackedRows) return 0;
  const std::vector<Pack> packs = packs_of(engine, spec, shards);
  return packs.empty() ? 0 : packs.back().offset + packs.back().to.get_size();
}

std::unique_ptr<LibraryOp> plan_pack_weights(Engine& engine, const MatmulSpec& spec, int shards) {
  return std::make_unique<PackOp>(engine, packs_of(engine, spec, shards), spec.dtype);
}

std::unique_ptr<LibraryOp> plan_matmul(Engine& engine, const MatmulSpec& spec, int shards) {
  return std::make_unique<MatmulOp>(engine, spec, shards);
}

}  // namespace kb::onednn
