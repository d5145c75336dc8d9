#include "recipes/config/run_plan.h"

#include <filesystem>

#include "recipes/task/inputs.h"

namespace kb {

BatchPlan batch_plan(const RunConfig& config) {
  return batch_plan(config.batch, sharing_processes(config, config.machine.processes));
}

RunPlan make_plan(const RunConfig& config, int64_t samples) { return make_plan(config, batch_plan(config), samples); }

RunConfig with_absolute_paths(RunConfig config) {
  namespace fs = std::filesystem;
  for (std::string* path : {&config.data.path, &config.resume.init})
    if (!path->empty() && *path != kNoise) *path = fs::absolute(*path).lexically_normal().string();
  if (const size_t at = config.resume.branch.rfind('@'); at != std::string::npos)
    config.resume.branch =
        fs::absolute(config.resume.branch.substr(0, at)).lexically_normal().string() + config.resume.branch.substr(at);
  return config;
}

RunConfig with_plan(RunConfig config) {
  config.batch.per_worker = batch_plan(config).per_worker;
  config.batch.batch_norm = {};
  return config;
}

}  // namespace kb
