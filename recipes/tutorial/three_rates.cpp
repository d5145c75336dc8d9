// Trains one model three times with different learning rates, by function calls, and prints a table of the results. An
// Observer writes every step to three_rates.csv, and ends a training whose test loss has not improved twice in a row.
#include <cmath>
#include <cstdio>
#include <memory>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/train/train.h"

using namespace kb;

namespace {

ModelOutput perceptron(Batch& batch) {
  Tensor x = relu(linear("hidden", flatten(batch.images), 64));
  return classification(batch, linear("out", x, batch.classes));
}

// Is told of every step and evaluation.
class Log : public Observer {
 public:
  Log(std::FILE* file, double rate) : file_(file), rate_(rate) {}

  void step(const StepMetrics& metrics) override {
    std::fprintf(file_, "%g,%lld,%g\n", rate_, static_cast<long long>(metrics.step), metrics.loss);
  }
  void evaluated(const EvaluationReport& report) override {
    const bool is_better = report.evaluation.loss < best_;
    worse_ = is_better ? 0 : worse_ + 1;
    if (is_better) best_ = report.evaluation.loss;
  }
  bool wants_to_stop() override { return worse_ == 2; }  // asked after every step

 private:
  std::FILE* file_;
  double rate_, best_ = INFINITY;
  int worse_ = 0;
};

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
    config.judging.eval_every = {40, Period::Unit::steps};
    config.judging.eval_on_stop = true;  // a training that the observer ends is evaluated too
    std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen("three_rates.csv", "w"), &std::fclose);
    if (!file) throw Error("three_rates.csv cannot be written");
    std::fprintf(file.get(), "rate,step,loss\n");
    std::printf("rate   test loss  test error\n");
    for (const double rate : {0.003, 0.03, 0.3}) {
      config.learning.lr = rate;
      Log log(file.get(), rate);
      const LoopResult end = train(task, config, machine, log).loop;
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
