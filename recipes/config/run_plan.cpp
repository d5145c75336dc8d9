#include "recipes/config/run_plan.h"

#include <filesystem>

#include "recipes/config/times_words.h"
#include "recipes/task/inputs.h"

namespace kb {

BatchPlan batch_plan(const RunConfig& config) {
  return batch_plan(config.batch, sharing_processes(config, config.machine.processes));
}

RunPlan make_plan(const RunConfig& config, int64_t samples) { return make_plan(config, batch_plan(config), samples); }

RunConfig with_absolute_paths(RunConfig config) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  for (std::string* path : {&config.data.path, &config.resume.init, &config.sync.order})
    if (!path->empty() && *path != kNoise) *path = absolute(*path);
  if (names_file(config.sync.times)) config.sync.times = absolute(config.sync.times);
  if (const size_t at = config.resume.branch.rfind('@'); at != std::string::npos)
    config.resume.branch = absolute(config.resume.branch.substr(0, at)) + config.resume.branch.substr(at);
  return config;
}

RunConfig with_plan(RunConfig config) {
  config.batch.per_worker = batch_plan(config).per_worker;
  config.batch.batch_norm = {};
  return config;
}

}  // namespace kb
