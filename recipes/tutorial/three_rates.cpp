// Trains one model three times with different learning rates, by function calls, and prints a table of the results.
#include <cstdio>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/train/train.h"

using namespace kb;

namespace {

ModelOutput perceptron(Batch& batch) {
  Tensor x = relu(linear("hidden", flatten(batch.images), 64));
  return classification(batch, linear("out", x, batch.classes));
}

}  // namespace

int main() {
  try {
    // `dataset` names drawn images, which need no download; it can also name a folder of images or a published set.
    const Recipe recipe = {.name = "three_rates",
                           .summary = "a perceptron on drawn glyphs",
                           .paper = "none",
                           .model = perceptron,
                           .defaults = {.dataset = "glyphs", .minibatch = 100, .optimizer = "momentum"}};
    RunConfig config = default_config(recipe);
    config.length.steps = 200;
    const Task task = load_task(recipe, config).task;
    LocalMachine machine;
    std::printf("rate   test loss  test error\n");
    for (const double rate : {0.003, 0.03, 0.3}) {
      config.learning.lr = rate;
      Observer silent;  // an Observer class of your own would be told of every step
      const LoopResult end = train(task, config, machine, silent).loop;
      if (end.ending == Ending::diverged)
        std::printf("%-5g   diverged\n", rate);
      else
        std::printf("%-5g  %9.4f  %8.2f %%\n", rate, end.evaluation->loss, 100 * end.evaluation->goal()->value);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "three_rates: %s\n", error.what());
    return 1;
  }
}
