#include "recipes/trainer.h"

#include <fmt/format.h>

#include "data/error.h"
#include "recipes/device.h"
#include "recipes/memory_answer.h"
#include "recipes/training_loop.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

constexpr int kInterruptedCode = 130;  // as shells report it

// Everything of one run that is there before step 0.
class Run {
 public:
  Run(const Recipe& recipe, const Flags& flags)
      : recipe_(recipe), flags_(flags), console_(flags.quiet), device_(choose_device(flags)) {
    console_.line(fmt::format("{} on {} ({})", recipe.name, device_.backend->description(), device_.reason));
    InputSpec input = input_spec(flags.dataset, recipe.synthetic);
    data_ = load_input(input, recipe.synthetic, flags.data);
    plan_ = make_plan(flags, data_.train.count());
    describe_plan();
    programs_ = compile_programs(recipe, flags, device_.backend->target());
  }

  int go() {
    StateStore store(*device_.backend);
    Session training(*device_.backend, store, std::move(programs_.training));
    Session inference(*device_.backend, store, std::move(programs_.inference));
    describe_programs(training, inference);
    if (!flags_.dry_run || !programs_.dumps.empty()) open_folder(training.compiled(), inference.compiled());
    if (flags_.dry_run) return 0;
    store.initialise(static_cast<uint32_t>(flags_.seed));
    MetricsFile metrics(folder_->file("metrics.jsonl"));
    TrainingLoop loop({flags_, plan_, make_scalars(recipe_, flags_, plan_), data_, training, inference, store, *folder_,
                       metrics, console_});
    return finish(loop.run(), store, metrics);
  }

 private:
  void describe_plan() {
    console_.line(fmt::format("data {}{}: {} training and {} test images of {}x{}x{}, {} classes", data_.name,
                              data_.variant ? " (variant)" : "", data_.train.count(), data_.test.count(),
                              data_.shape.channels, data_.shape.height, data_.shape.width, data_.class_count()));
    console_.line("plan " + plan_.derivation(flags_));
    console_.line(fmt::format("learning rate {}; momentum {}, weight decay {}, label smoothing {}, seed {}", schedule(),
                              flags_.momentum, flags_.weight_decay, flags_.label_smoothing, flags_.seed));
  }

  std::string schedule() const { return make_scalars(recipe_, flags_, plan_).rate().description(); }

  void open_folder(const Compiled& training, const Compiled& inference) {
    folder_.emplace(recipe_.name, flags_.out);
    const std::string device = device_.backend->description();
    write_file_atomically(
        folder_->file("manifest.json"),
        manifest_text({recipe_, flags_, plan_, training, inference, programs_.parameters, data_, schedule(), device}));
    for (const DumpFile& dump : programs_.dumps) write_file_atomically(folder_->file(dump.name), dump.text);
    if (!programs_.dumps.empty())
      console_.line(fmt::format("dumped {} files into {}", programs_.dumps.size(), folder_->path().string()));
    programs_.dumps.clear();
  }

  void describe_programs(const Session& training, const Session& inference) {
    const Compiled& compiled = training.compiled();
    const LoadReport &a = training.load_report(), &b = inference.load_report();
    console_.line(fmt::format(
        "compiled {} parameters into {} + {} steps in {:.0f} ms, kernels in {:.0f} ms ({} compiled, {} from the cache)",
        programs_.parameters, compiled.program.final.steps.size(), inference.compiled().program.final.steps.size(),
        compiled.milliseconds + inference.compiled().milliseconds, a.jit_milliseconds + b.jit_milliseconds,
        a.compiled + b.compiled, a.cache_hits + b.cache_hits));
    console_.line(to_text(memory_answer(compiled)));
    console_.line(fmt::format("evaluation takes {} more", bytes_text(memory_answer(inference.compiled()).arena +
                                                                     memory_answer(inference.compiled()).inputs)));
  }

  int finish(const LoopResult& result, const StateStore& store, MetricsFile& metrics) {
    const Evaluation& e = result.evaluation;
    metrics.end({result.steps, e.error, e.loss, store.state_sha256()});
    const double samples = static_cast<double>(result.steps * plan_.minibatch);
    console_.line(fmt::format("\ntest error {:.2f} % ({:.0f} of {}), test loss {:.4f}", 100 * e.error,
                              e.error * static_cast<double>(e.count), e.count, e.loss));
    console_.line(fmt::format("trained {} steps in {:.1f} s, {:.0f} samples/s", result.steps, result.train_seconds,
                              result.train_seconds > 0 ? samples / result.train_seconds : 0));
    console_.line(
        fmt::format("run folder: {} (manifest.json, metrics.jsonl, model.safetensors)", folder_->path().string()));
    console_.line(what_next());
    return result.ending == Ending::interrupted ? kInterruptedCode : 0;
  }

  // Goyal et al. 2017, section 2.1: k times the minibatch, k times the learning rate.
  std::string what_next() const {
    return fmt::format(
        "next: ./run {0} --minibatch {1} --lr {2:.4g} --warmup-epochs 1   the linear scaling rule, k = 4\n"
        "      ./run {0} --seed {3}   how much of the error is chance\n"
        "      ./run inspect {0}   what was compiled",
        recipe_.name, 4 * flags_.minibatch, 4 * flags_.lr, flags_.seed + 1);
  }

  const Recipe& recipe_;
  const Flags flags_;
  Console console_;
  Device device_;
  Dataset data_;
  RunPlan plan_;
  Programs programs_;
  std::optional<RunFolder> folder_;
};

}  // namespace

int run_recipe(const Recipe& recipe, int argc, char** argv) {
  return guarded_main(recipe.name, [&] {
    std::optional<Flags> flags = parse_flags(recipe, "./run " + recipe.name, {argv + 1, argv + argc});
    return flags ? Run(recipe, *flags).go() : 0;
  });
}

int guarded_main(const std::string& program, const std::function<int()>& work) {
  auto say = [&](const char* what) { fmt::print(stderr, "{}: {}\n", program, what); };
  try {
    return work();
  } catch (const UsageError& error) {
    say(error.what());
    return 2;
  } catch (const Error& error) {
    say(error.what());
    return 1;
  } catch (const DataError& error) {
    say(error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    say("not enough memory; a smaller --minibatch takes less");
    return 1;
  } catch (const std::exception& error) {
    say(fmt::format("internal error: {}", error.what()).c_str());
    return 3;
  }
}

}  // namespace kb
