// Runs library calls, and computes the expected results by plain loops in double.
#pragma once
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/cpu/library.h"

namespace kb::library_test {

// An array of `dtype` whose values are exact in it. It begins at a multiple of 64 bytes, and a guard follows its end.
class Array {
 public:
  Array(DType dtype, int64_t count);
  void fill(std::mt19937& random);
  double get(int64_t i) const;
  std::vector<double> all() const;
  void set(int64_t i, double value);
  void* data() { return store_.data() + offset_; }
  const void* data() const { return store_.data() + offset_; }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_ * size_of(dtype_)); }
  // Returns whether nothing has been written behind the array.
  bool guarded() const;
  bool operator==(const Array& other) const { return std::memcmp(data(), other.data(), bytes()) == 0; }

 private:
  DType dtype_;
  int64_t count_;
  std::vector<unsigned char> store_;
  size_t offset_ = 0;
};

Array array_of_bytes(size_t bytes);

// Returns the error that a sum may have, relative to the sum of its terms' absolute values.
double tolerance(DType dtype);

struct Expected {
  std::vector<double> value, size;  // size: the sum of the terms' absolute values
  explicit Expected(int64_t count) : value(count), size(count) {}
};

// Fails the test at the first element whose error, relative to the sum of its terms' sizes, exceeds `tolerance`.
void compare(const Array& got, const Expected& expected, double tolerance, const std::string& what);

struct ConvCase {
  ConvSpec spec;
  Array x, w, y, bias;
  ConvCase(const ConvSpec& s, std::mt19937& random);

  Array result() const;
  std::vector<const void*> inputs(const Array& weights) const;
  Expected expected() const;
};

struct MatmulCase {
  MatmulSpec spec;
  Array a, b, bias;
  MatmulCase(const MatmulSpec& s, std::mt19937& random);

  Array result() const { return Array(result_dtype(), spec.batch * spec.m * spec.n); }
  DType result_dtype() const { return spec.wide ? DType::f32 : spec.dtype; }
  std::vector<const void*> inputs() const;
  Expected expected() const;
};

std::string describe(const ConvSpec& spec);
std::string describe(const MatmulSpec& spec);
ConvSpec random_conv(std::mt19937& random);
MatmulSpec random_matmul(std::mt19937& random);

// Run a call and return its result; the guards of result and scratch must hold.
Array run(const LibraryOp& op, Pool& pool, std::vector<const void*> in, Array result);
Array pack(LibraryContext& context, Pool& pool, const ConvSpec& spec, const Array& weights);
Array run_conv(LibraryContext& context, Pool& pool, const ConvCase& c, int shards);

// Runs the call twice. Returns how often code of ours allocates memory in the second run.
int64_t allocations_of_a_second_run(Pool& pool, const LibraryOp& op, const std::vector<const void*>& in, Array result);

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

}  // namespace kb::library_test
