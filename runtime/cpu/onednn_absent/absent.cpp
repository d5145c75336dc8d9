// Takes oneDNN's place in a build without it: there is no engine, so every plan is Eigen's.
#include "graph/error.h"
#include "runtime/cpu/library_parts.h"

namespace kb::onednn {

struct Engine {};

namespace {
constexpr char kAbsent[] = "this build has no oneDNN";
}

std::shared_ptr<Engine> make_engine() { return nullptr; }
std::string name() { throw InternalError(kAbsent); }
std::string instruction_set() { throw InternalError(kAbsent); }
bool computes(DType) { return false; }
bool multiplies(DType, int64_t) { return false; }
std::unique_ptr<LibraryOp> plan_conv(Engine&, const ConvSpec&, int) { throw InternalError(kAbsent); }
std::unique_ptr<LibraryOp> plan_matmul(Engine&, const MatmulSpec&, int) { throw InternalError(kAbsent); }
WeightLayout weight_layout(Engine&, const ConvSpec&) { throw InternalError(kAbsent); }
size_t packed_weight_bytes(Engine&, const MatmulSpec&, int) { throw InternalError(kAbsent); }
std::unique_ptr<LibraryOp> plan_pack_weights(Engine&, const MatmulSpec&, int) { throw InternalError(kAbsent); }

}  // namespace kb::onednn
