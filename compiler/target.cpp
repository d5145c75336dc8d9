#include "compiler/target.h"

#include "graph/error.h"

namespace kb {

Target generic_cpu_target() { return {}; }

// The table has the multiprocessors of A100, H100 and B200, and the memory of the smallest model that is sold with so
// many multiprocessors (A100: 80 GB).
Target gpu_target(const std::string& arch) {
  Target target;
  target.processor = Processor::gpu;
  target.isa = target.library_isa = arch;
  target.lanes = 4;
  target.narrow_weight_gradients = true;
  target.tile_elements = 8192;
  target.prefetch_bytes = 0;
  target.streaming_bytes = 0;
  if (arch == "sm_80") {
    set_processors(target, 108);
    target.memory_bytes = 80'000'000'000, target.product_stages = 2;
  } else if (arch == "sm_90") {
    set_processors(target, 132);
    target.memory_bytes = 80'000'000'000, target.has_flash_attention = target.warpgroups = true;
  } else if (arch == "sm_100") {
    set_processors(target, 148);
    target.memory_bytes = 180'000'000'000;
  } else {
    throw Error("unknown GPU architecture '" + arch + "': expected sm_80, sm_90 or sm_100");
  }
  target.products = Products::picked;
  return target;
}

// A reduction is cut into as many blocks as run on the device at once: three a multiprocessor, with up to 80 registers
// a thread. One block more would run alone after all others.
void set_processors(Target& target, int64_t processors) {
  target.processors = processors;
  target.max_partials = 3 * processors;
}

}  // namespace kb
