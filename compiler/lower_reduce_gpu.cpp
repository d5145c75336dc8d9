#include "compiler/lower_reduce.h"

namespace kb {

Lowered lower_reduce_gpu(const Graph&, const Group&, const Target&) {
  throw Error("reductions have no GPU lowering in this version; targets with one: cpu");
}

}  // namespace kb
