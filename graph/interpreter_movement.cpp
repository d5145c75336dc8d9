// The interpreter's movement ops: each is one walk over strides that reads or writes elsewhere.
#include <algorithm>
#include <cmath>

#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

const std::vector<double>& source(const Work& work) { return work.in[0]->data; }
std::vector<double>& target(const Work& work) { return work.out[0].data; }

// out[i] = in[offset + strides . index(i)]
void read_strided(const Work& work, const Ints& strides, int64_t offset = 0) {
  size_t i = 0;
  walk<1>(work.out[0].type.shape, {strides},
          [&](const auto& at) { target(work)[i++] = source(work)[static_cast<size_t>(offset + at[0])]; });
}

// out[offset + strides . index(i)] = in[i]
void write_strided(const Work& work, const Array& in, const Ints& strides, int64_t offset) {
  size_t i = 0;
  walk<1>(in.type.shape, {strides},
          [&](const auto& at) { target(work)[static_cast<size_t>(offset + at[0])] = in.data[i++]; });
}

void broadcast(const Work& work) {
  const Dims& shape = work.in[0]->type.shape;
  const Ints& axes = work.node.attrs.ints("axes");
  const Ints from = row_major(shape);
  Ints strides(work.out[0].type.shape.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (shape[i] != 1) strides[static_cast<size_t>(axes[i])] = from[i];
  }
  read_strided(work, strides);
}

void transpose(const Work& work) {
  const Ints& perm = work.node.attrs.ints("perm");
  const Ints from = row_major(work.in[0]->type.shape);
  Ints strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) strides[i] = from[static_cast<size_t>(perm[i])];
  read_strided(work, strides);
}

void slice(const Work& work) {
  const Ints &begin = work.node.attrs.ints("begin"), &step = work.node.attrs.ints("step");
  Ints strides = row_major(work.in[0]->type.shape);
  int64_t offset = 0;
  for (size_t a = 0; a < strides.size(); ++a) {
    offset += begin[a] * strides[a];
    strides[a] *= step[a];
  }
  read_strided(work, strides, offset);
}

void pad(const Work& work) {
  const Ints &low = work.node.attrs.ints("low"), &interior = work.node.attrs.ints("interior");
  std::fill(target(work).begin(), target(work).end(), work.node.attrs.real("value"));
  Ints strides = row_major(work.out[0].type.shape);
  int64_t offset = 0;
  for (size_t a = 0; a < strides.size(); ++a) {
    offset += low[a] * strides[a];
    strides[a] *= interior[a] + 1;
  }
  write_strided(work, *work.in[0], strides, offset);
}

void concat(const Work& work) {
  const auto axis = static_cast<size_t>(work.node.attrs.integer("axis"));
  const Ints strides = row_major(work.out[0].type.shape);
  int64_t offset = 0;
  for (const Array* part : work.in) {
    write_strided(work, *part, strides, offset);
    offset += part->type.shape[axis] * strides[axis];
  }
}

// A row of packed bits is a whole number of bytes, so that element i of the tensor is bit i % 8 of byte i / 8.
void pack_bits(const Work& work) {
  for (size_t i = 0; i < source(work).size(); ++i)
    if (source(work)[i] != 0) target(work)[i / 8] += std::exp2(static_cast<double>(i % 8));
}

void unpack_bits(const Work& work) {
  for (size_t i = 0; i < target(work).size(); ++i)
    target(work)[i] = (static_cast<uint32_t>(source(work)[i / 8]) >> (i % 8)) & 1u;
}

}  // namespace

void movement(const Work& work) {
  const Op op = work.node.op;
  if (op == Op::broadcast) return broadcast(work);
  if (op == Op::reshape) return void(target(work) = source(work));
  if (op == Op::transpose) return transpose(work);
  if (op == Op::slice) return slice(work);
  if (op == Op::pad) return pad(work);
  if (op == Op::concat) return concat(work);
  if (op == Op::pack_bits) return pack_bits(work);
  ensure(op == Op::unpack_bits, "interpreter: not a movement op");
  unpack_bits(work);
}

}  // namespace kb::oracle
