#include "recipes/device.h"

namespace kb {

Device choose_device(const Flags& flags) {
  if (flags.device == "cuda")
    throw Error(
        "--device cuda: this build has no GPU backend\n  missing: a CUDA backend in Kilobatch (devices of this build: "
        "cpu)\n  hint:    --device cpu");
  std::string reason = flags.device == "auto" ? "--device auto: the only device of this build" : "--device cpu";
  return {make_cpu_backend({.threads = static_cast<int>(flags.threads),
                            .shards = static_cast<int>(flags.shards),
                            .cache_directory = ""}),
          reason};
}

}  // namespace kb
