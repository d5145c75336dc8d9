#include "tests/simt/warpgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/dtype.h"

namespace kb::simt {
namespace {

// Reads the elements (i, k) of a matrix, by rows of the depth.
std::vector<double> read(const DescribedMatrix& matrix, uint32_t extent, bool f16, const ProductMemory& memory) {
  std::vector<double> elements(size_t{extent} * DescribedMatrix::kDepth);
  matrix.each_group(extent, [&](const DescribedMatrix::Group& group) {
    const uint32_t step = group.di * DescribedMatrix::kDepth + group.dk;
    double* to = &elements[group.i * DescribedMatrix::kDepth + group.k];
    for (const uint16_t bits : memory.read(group.address)) {
      *to = f16 ? f16_to_float(bits) : bf16_to_float(bits);
      to += step;
    }
  });
  return elements;
}

}  // namespace

uint32_t DescribedMatrix::groups() const {
  const auto swizzling = static_cast<uint32_t>(bits_ >> 62);  // 1: 128 bytes, 2: 64, 3: 32
  return swizzling == 0 ? 1 : 16 >> swizzling;
}

std::string DescribedMatrix::wrong() const {
  if (groups() == 1) return "a descriptor without swizzling, which is not emulated";
  if ((bits_ & ~uint64_t{0xc000'3fff'3fff'3fff}) != 0) return fmt::format("a descriptor with other bits: {:#x}", bits_);
  return "";
}

// A panel has rows of `groups` times 16 bytes. Rows of A and columns of B lie along it, or across it if transposed.
uint32_t DescribedMatrix::address(uint32_t i, uint32_t k) const {
  const uint32_t row_bytes = groups() * 16, panel = groups() * kGroup;
  uint32_t at = field(0);
  if (transposed_)
    at += i / panel * field(16) + i % panel * 2 + k / kGroup * field(32) + k % kGroup * row_bytes;
  else
    at += i / kGroup * field(32) + i % kGroup * row_bytes + k * 2;
  return at ^ (at >> 7 & (groups() - 1)) << 4;
}

void DescribedMatrix::each_group(uint32_t extent, const std::function<void(const Group&)>& body) const {
  const uint32_t di = transposed_ ? 1 : 0, dk = 1 - di;
  for (uint32_t i = 0; i < extent; i += transposed_ ? kGroup : 1)
    for (uint32_t k = 0; k < kDepth; k += transposed_ ? 1 : kGroup) body({address(i, k), i, k, di, dk});
}

void WarpgroupProduct::each_group(const std::function<void(const DescribedMatrix::Group&)>& body) const {
  DescribedMatrix(a, a_transposed).each_group(kRows, body);
  DescribedMatrix(b, b_transposed).each_group(columns, body);
}

void Warpgroups::clear() {
  std::ranges::fill(threads_, Thread{});
  for (auto& group : groups_) group.clear();
}

std::string Warpgroups::multiply(uint32_t number, float* sums, const WarpgroupProduct& product, ProductMemory& memory) {
  Thread& thread = threads_[number];
  if (number / kThreads >= groups_.size()) return fmt::format("thread {} multiplies in no whole warpgroup", number);
  if (thread.sums.empty()) return fmt::format("thread {} multiplies without warpgroup_begin()", number);
  if (thread.sums.data() != sums || thread.sums.size() != product.columns / 2)
    return fmt::format("thread {} adds products to other sums than it gave to warpgroup_begin()", number);
  std::vector<Begun>& group = groups_[number / kThreads];
  const size_t own = thread.begun++;
  thread.open.push_back({own, sums});
  if (own < group.size()) {
    if (group[own].product == product) return "";
    return fmt::format("thread {} multiplies other matrices than its warpgroup", number);
  }
  group.push_back({product, {}});
  for (const uint64_t descriptor : {product.a, product.b})
    if (std::string wrong = DescribedMatrix(descriptor, false).wrong(); !wrong.empty()) return wrong;
  std::string wrong;
  product.each_group([&](const DescribedMatrix::Group& group_of_8) {
    if (wrong.empty()) wrong = memory.begin_read(group_of_8.address);
  });
  return wrong;
}

// A product of two elements is exact in double.
std::vector<double> Warpgroups::multiplied(const WarpgroupProduct& product, const ProductMemory& memory) {
  constexpr uint32_t kRows = WarpgroupProduct::kRows, kDepth = DescribedMatrix::kDepth;
  const std::vector<double> a = read({product.a, product.a_transposed}, kRows, product.f16, memory);
  const std::vector<double> b = read({product.b, product.b_transposed}, product.columns, product.f16, memory);
  std::vector<double> values;
  values.reserve(size_t{kRows} * product.columns);
  for (const double* row = a.data(); row < a.data() + a.size(); row += kDepth)
    for (const double* column = b.data(); column < b.data() + b.size(); column += kDepth)
      values.push_back(std::inner_product(row, row + kDepth, column, 0.0));
  return values;
}

// Lane 4 * g + t of warp w has, of each eight columns, the sums (16 * w + g, 2 * t), (.., 2 * t + 1) and those of row
// 16 * w + g + 8. An element is summed in double and rounded once. (A GPU adds in an order and to a precision of its
// own.)
void Warpgroups::end(uint32_t number, ProductMemory& memory) {
  Thread& thread = threads_[number];
  const uint32_t lane = number % 32, row = number % kThreads / 32 * 16 + lane / 4, column = lane % 4 * 2;
  for (const Open& open : thread.open) {
    Begun& begun = groups_[number / kThreads][open.number];
    if (begun.values.empty()) begun.values = multiplied(begun.product, memory);
    if (++begun.waited == kThreads)
      begun.product.each_group([&](const DescribedMatrix::Group& group) { memory.end_read(group.address); });
    for (uint32_t i = 0; i < begun.product.columns / 2; ++i) {
      const uint32_t m = row + i / 2 % 2 * 8, n = i / 4 * 8 + column + i % 2;
      open.sums[i] = static_cast<float>(open.sums[i] + begun.values[m * begun.product.columns + n]);
    }
  }
  thread.open.clear();
  thread.sums = {};
}

bool Warpgroups::holds(uint32_t thread, const void* at) const {
  const std::span<const float> sums = threads_[thread].sums;
  return at >= sums.data() && at < sums.data() + sums.size();
}

std::string Warpgroups::meet() {
  for (size_t first = 0; first + kThreads <= threads_.size(); first += kThreads) {
    bool any_open = false;
    for (size_t i = first; i < first + kThreads; ++i) {
      any_open |= !threads_[i].open.empty();
      if (threads_[i].begun != threads_[first].begun)
        return fmt::format("thread {} has begun {} products of its warpgroup, but thread {} {}", first,
                           threads_[first].begun, i, threads_[i].begun);
    }
    if (any_open) continue;
    groups_[first / kThreads].clear();
    for (size_t i = first; i < first + kThreads; ++i) threads_[i].begun = 0;
  }
  return "";
}

}  // namespace kb::simt
