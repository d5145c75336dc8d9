#include <fmt/format.h>

#include <cstdlib>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/cublaslt/matmuls.h"
#include "runtime/cuda/matmul_layout.h"

namespace kb::cublaslt {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      throw InternalError("matmul: not a float dtype");
  }
}

cublasComputeType_t compute_type(const MatmulSpec& spec) {
  if (spec.dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return spec.dtype == DType::f32 && spec.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, const T& value) {
  check(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

cublasLtMatrixLayout_t matrix(DType dtype, const cuda::Matrix& m, int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, data_type(dtype), static_cast<uint64_t>(m.rows),
                                   static_cast<uint64_t>(m.columns), m.leading),
        "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute(batch count)");
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.batch_stride,
                                         sizeof m.batch_stride),
        "cublasLtMatrixLayoutSetAttribute(batch stride)");
  return layout;
}

cublasLtEpilogue_t epilogue(const MatmulSpec& spec) {
  ensure(!spec.relu, "matmul: a relu, which a GPU's kernels compute");
  return spec.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

class Preference {
 public:
  Preference() { check(cublasLtMatmulPreferenceCreate(&raw_), "cublasLtMatmulPreferenceCreate"); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(raw_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, const T& value) {
    check(cublasLtMatmulPreferenceSetAttribute(raw_, name, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t raw() const { return raw_; }

 private:
  cublasLtMatmulPreference_t raw_ = nullptr;
};

}  // namespace

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw InternalError(
      fmt::format("{} failed: {} ({})", call, cublasLtGetStatusString(status), static_cast<int>(status)));
}

std::string version() {
  const size_t v = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

Problem::Problem(const MatmulSpec& spec) : wide_sums_(spec.dtype == DType::f64) {
  const cuda::MatmulLayout layout = cuda::column_major(spec);
  check(cublasLtMatmulDescCreate(&operation_, compute_type(spec), wide_sums_ ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  const auto transposed = [](bool is) { return static_cast<int32_t>(is ? CUBLAS_OP_T : CUBLAS_OP_N); };
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, transposed(layout.transpose_first));
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, transposed(layout.transpose_second));
  set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue(spec)));
  // The heuristics take the alignment of the bias from this address.
  if (spec.bias)
    set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void*>(uintptr_t{cuda::kOperandAlignment}));
  first_ = matrix(spec.dtype, layout.first, spec.batch);
  second_ = matrix(spec.dtype, layout.second, spec.batch);
  d_ = matrix(spec.wide ? DType::f32 : spec.dtype, layout.d, spec.batch);
}

Problem::~Problem() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, d_})
    if (layout) cublasLtMatrixLayoutDestroy(layout);
  if (operation_) cublasLtMatmulDescDestroy(operation_);
}

std::vector<Algorithm> Problem::algorithms(cublasLtHandle_t handle, int64_t workspace, int most) const {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace));
  // The parts of a sum are kept in the compute type and added in a step of their own. In place, or in the output's
  // type, they would be added in less than f32.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    preference.set(name, uint32_t{cuda::kOperandAlignment});
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(most));
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, operation_, first_, second_, d_, d_,
                                                               preference.raw(), most, results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  results.resize(static_cast<size_t>(count));
  std::vector<Algorithm> found;
  for (const cublasLtMatmulHeuristicResult_t& result : results)
    if (result.state == CUBLAS_STATUS_SUCCESS)
      found.push_back({result.algo, static_cast<int64_t>(result.workspaceSize)});
  return found;
}

int64_t Problem::workspace(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle, operation_, first_, second_, d_, d_, &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int64_t>(result.workspaceSize) : -1;
}

void Problem::enqueue(cublasLtHandle_t handle, const Algorithm& algorithm, cuda::Stream stream,
                      const Operands& operands, void* workspace) const {
  const auto& [a, b, bias, c] = operands;
  for (const void* address : {a, b, bias, static_cast<const void*>(c)}) cuda::check_operand("matmul", address);
  if (bias) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const double one = 1, zero = 0;
  const float one32 = 1, zero32 = 0;
  const void* alpha = wide_sums_ ? static_cast<const void*>(&one) : &one32;
  const void* beta = wide_sums_ ? static_cast<const void*>(&zero) : &zero32;
  check(cublasLtMatmul(handle, operation_, alpha, b, first_, a, second_, beta, c, d_, c, d_, &algorithm.code, workspace,
                       static_cast<size_t>(algorithm.workspace), stream),
        "cublasLtMatmul");
}

std::string to_pick(const cublasLtMatmulAlgo_t& algorithm) {
  std::string pick = std::to_string(cublasLtGetVersion());
  for (const uint64_t word : algorithm.data) pick += fmt::format(" {:x}", word);
  return pick;
}

cublasLtMatmulAlgo_t from_pick(const std::string& pick) {
  const auto bad = [&](const char* why) {
    return Error(fmt::format("the recorded choice '{}' of a matrix product {}{}", pick, why, cuda::kPickHint));
  };
  char* at = nullptr;
  if (std::strtoull(pick.c_str(), &at, 10) != cublasLtGetVersion())
    throw bad(fmt::format("was made with another version than {}", version()).c_str());
  cublasLtMatmulAlgo_t algorithm{};
  for (uint64_t& word : algorithm.data) {
    char* end = nullptr;
    word = std::strtoull(at, &end, 16);
    if (end == at) throw bad("is no algorithm");
    at = end;
  }
  if (*at != '\0') throw bad("is no algorithm");
  return algorithm;
}

}  // namespace kb::cublaslt
