// The matrix products of a device library, by cuBLASLt. An algorithm is chosen once for equal specs: by its pick if one
// is given, else by trials. Without a device cuBLASLt answers nothing.
#pragma once
#include <cublasLt.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cublaslt {

std::string version();  // returns "cuBLASLt 13.1.0"

// Throws InternalError unless `status` is success.
void check(cublasStatus_t status, const char* call);

struct Algorithm {
  cublasLtMatmulAlgo_t code{};
  int64_t workspace = 0;  // bytes
};

// The addresses of a product's operands. `bias` is null if there is none.
struct Operands {
  const void *a, *b, *bias;
  void* c;
};

// The descriptors of one product. The destructor destroys them.
class Problem {
 public:
  explicit Problem(const MatmulSpec& spec);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  ~Problem();

  // Returns at most `most` algorithms, the heuristics' favourite first. None of them adds parts of a sum in less than
  // f32 or in an order that may change.
  std::vector<Algorithm> algorithms(cublasLtHandle_t handle, int64_t workspace, int most) const;
  // Returns the workspace of an algorithm in bytes; -1: the algorithm cannot do this product here.
  int64_t workspace(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const;
  void enqueue(cublasLtHandle_t handle, const Algorithm& algorithm, cuda::Stream stream, const Operands& operands,
               void* workspace) const;

 private:
  bool wide_sums_;  // true: sums are in f64
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, d_ = nullptr;
};

// Returns an algorithm as text. Only the same version of cuBLASLt can read it.
std::string to_pick(const cublasLtMatmulAlgo_t& algorithm);
// Returns the algorithm of a text. Throws Error when the text is none, or another version's.
cublasLtMatmulAlgo_t from_pick(const std::string& pick);

// A product with its algorithm.
struct MatmulPlan {
  explicit MatmulPlan(const MatmulSpec& spec) : problem(spec) {}
  Problem problem;
  Algorithm algorithm;
};

class Matmuls {
 public:
  // Works on the handles' device, whose context is current. Chosen picks are added to `picks`.
  Matmuls(const cuda::DeviceHandles& device, cuda::LibraryPicks& picks);
  ~Matmuls();
  Matmuls(const Matmuls&) = delete;
  Matmuls& operator=(const Matmuls&) = delete;

  // Throws Error when cuBLASLt has no implementation.
  std::unique_ptr<cuda::LibraryOp> plan(const MatmulSpec& spec);

 private:
  std::shared_ptr<const MatmulPlan> choose(const MatmulSpec& spec);
  Algorithm best_algorithm(const MatmulSpec& spec, const Problem& problem) const;

  const cuda::DeviceHandles& device_;
  cublasLtHandle_t handle_ = nullptr;
  cuda::LibraryPicks& picks_;
  std::map<std::string, std::shared_ptr<const MatmulPlan>> chosen_;  // keyed by the spec's text
};

}  // namespace kb::cublaslt
