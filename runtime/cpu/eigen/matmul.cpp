#include "runtime/cpu/eigen/gemm.h"
#include "runtime/cpu/library_parts.h"

namespace kb::eigen {

namespace {

template <class T>
class MatmulOp : public LibraryOp {
 public:
  MatmulOp(const MatmulSpec& spec, int shards) : spec_(spec) {
    const MatmulCut cut = cut_matmul(spec, shards);
    for (size_t s = 0; s + 1 < cut.bounds.size(); ++s) shards_.push_back(matmul_shard(spec, cut, s));
  }

  size_t scratch_bytes() const override { return 0; }
  std::string implementation() const override { return "eigen"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void*) const override {
    each_shard(pool, std::ssize(shards_), [&](int64_t s) { run(shards_[s], in, static_cast<T*>(out[0])); });
  }

 private:
  void run(const MatmulShard& shard, std::span<const void* const> in, T* out) const {
    const T* a = static_cast<const T*>(in[0]) + shard.a;
    const T* b = static_cast<const T*>(in[1]) + shard.b;
    T* c = out + shard.c;
    const int64_t m = shard.spec.m, n = shard.spec.n, k = shard.spec.k;
    for (int64_t i = 0; i < shard.spec.batch; ++i) {
      gemm<T>(m, n, k, {a, spec_.transpose_a ? spec_.m : k, spec_.transpose_a},
              {b, spec_.transpose_b ? k : spec_.n, spec_.transpose_b}, {c, spec_.n}, false);
      if (spec_.bias || spec_.relu) finish(c, m, n, spec_.bias ? static_cast<const T*>(in[2]) + shard.bias : nullptr);
      a += spec_.m * k;
      b += k * spec_.n;
      c += spec_.m * spec_.n;
    }
  }

  void finish(T* c, int64_t m, int64_t n, const T* bias) const {
    for (int64_t i = 0; i < m; ++i) {
      T* row = c + i * spec_.n;
      for (int64_t j = 0; j < n; ++j) {
        const T value = bias ? row[j] + bias[j] : row[j];
        row[j] = spec_.relu && value < 0 ? T(0) : value;
      }
    }
  }

  MatmulSpec spec_;
  std::vector<MatmulShard> shards_;
};

}  // namespace

std::unique_ptr<LibraryOp> plan_matmul(const MatmulSpec& spec, int shards) {
  prepare();
#ifdef KB_EIGEN_F32
  if (spec.dtype == DType::f32) return std::make_unique<MatmulOp<float>>(spec, shards);
#endif
  ensure(spec.dtype == DType::f64, "Eigen: a dtype that it does not compute in");
  return std::make_unique<MatmulOp<double>>(spec, shards);
}

}  // namespace kb::eigen
