#include "recipes/config/image_run.h"

namespace kb {
namespace {

std::string why_images_are_sent(const RunConfig& config, const InputSpec& input) {
  const AugmentSpec spec = augment_spec(config);
  if (input.noise) return "--data synthetic is one minibatch of noise and no data set";
  const bool moves = config.augment_in == AugmentPlace::loader && (spec.moves() || spec.cutout > 0);
  return moves ? "with --augment-in loader the host moves the pixels" : "";
}

}  // namespace

Task task_of(const Recipe& recipe, const RunConfig& config, const InputSpec& input) {
  Task task = image_task(recipe, input, config.options, graph_augment(config));
  task.sent_because = why_images_are_sent(config, input);
  return task;
}

void set_sources(Task& task, const RunConfig& config, const InputSpec& input, std::shared_ptr<const Dataset> data) {
  set_image_sources(task, input, std::move(data), loader_augment(config, input));
}

Task load_task(const Recipe& recipe, const RunConfig& config) {
  Input input = load_input({config.dataset, recipe.synthetic, config.data, recipe.load});
  Task task = task_of(recipe, config, input.spec);
  set_sources(task, config, input.spec, std::make_shared<const Dataset>(std::move(input.data)));
  return task;
}

Task timed_task(const Recipe& recipe, const RunConfig& config, const InputSpec& input) {
  Task task = task_of(recipe, config, input);
  task.train = noise_source(input);
  return task;
}

}  // namespace kb
