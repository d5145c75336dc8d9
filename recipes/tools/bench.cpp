// summary: times a recipe's compiled training step on synthetic input
#include <fmt/format.h>
#include "recipes/tools/commands.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

#include "compiler/passes/layout_table.h"
#include "compiler/schedule/describe_steps.h"
#include "recipes/config/flag_names.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/conv_times.h"
#include "recipes/inspect/schedule_table.h"
#include "recipes/inspect/step_times.h"
#include "recipes/perf/copy_bandwidth.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/perf/multiply_rate.h"
#include "recipes/perf/rounds.h"
#include "recipes/run/console.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "recipes/train/timed_inputs.h"
#include "runtime/json.h"

namespace kb {
namespace {

constexpr int kProfiles = 5;
constexpr int kRounds = 7;
constexpr int64_t kCopyBytes = 128 << 20;

struct Limits {
  double copy = 0, multiply = 0;  // bytes copied, and operations, per second
};

// Returns the dtype in which a CPU multiplies at a precision.
DType product_dtype(Precision precision) {
  if (precision == Precision::bf16) return DType::bf16;
  return precision == Precision::f64 ? DType::f64 : DType::f32;
}

Limits measure_limits(int threads, DType products) {
  Limits limits;
  CopyBandwidth copy(kCopyBytes, threads);
  for (int trial = 0; trial < kProfiles; ++trial)
    for (auto way : {&CopyBandwidth::plain, &CopyBandwidth::streaming})
      limits.copy = std::max(limits.copy, 2e3 * kCopyBytes / milliseconds_of([&] { (copy.*way)(); }));
  Pool pool(threads);
  limits.multiply = measure_multiply_rate(pool, products);
  return limits;
}

// Returns the least time of every step over several profiles.
std::vector<StepTime> profile(Session& session) {
  std::vector<StepTime> best = session.profile().steps;
  for (int trial = 1; trial < kProfiles; ++trial) {
    const std::vector<StepTime> times = session.profile().steps;
    for (size_t i = 0; i < best.size(); ++i)
      best[i].milliseconds = std::min(best[i].milliseconds, times[i].milliseconds);
  }
  return best;
}

// A launch's rate as text, and its share of what this machine can do.
struct RateText {
  std::string rate;        // "21.3 GB/s"
  double share = 0;        // fraction of the copy bandwidth, or of the multiply rate if it multiplies
  const char* mark = " ";  // why the share exceeds 1, if it does: a key of the lines below the table
};

constexpr const char *kCached = "*", *kFewerProducts = "+";

RateText rate_text(const Step& step, double ms, const Limits& limits) {
  if (ms <= 0) return {.rate = "-"};
  if (step.cls == FusionClass::library && step.flops > 0) {
    const double rate = 1e3 * static_cast<double>(step.flops) / ms;
    const double share = rate / limits.multiply;
    return {fmt::format("{:.1f} GFLOP/s", rate / 1e9), share, share > 1 ? kFewerProducts : " "};
  }
  const double rate = 1e3 * static_cast<double>(step.bytes) / ms;
  return {fmt::format("{:.1f} GB/s", rate / 1e9), rate / limits.copy, rate > limits.copy ? kCached : " "};
}

// Prints what the shares are fractions of, and what the marks of the table mean.
void print_limits(const Limits& limits, const std::string& marks) {
  fmt::print(
      "of: GB/s over the copy bandwidth {:.1f} GB/s (read + write),\n    GFLOP/s over the multiply rate {:.1f} "
      "GFLOP/s\n",
      limits.copy / 1e9, limits.multiply / 1e9);
  if (marks.find(kCached) != std::string::npos)
    fmt::print("{}: above 100 %, for a part of the bytes is in the processor's cache\n", kCached);
  if (marks.find(kFewerProducts) != std::string::npos)
    fmt::print("{}: above 100 %, for operations are counted as of a direct convolution, and 3x3 ones take fewer\n",
               kFewerProducts);
}

void print_table(Session& session, int threads, DType products) {
  const Limits limits = measure_limits(threads, products);
  const std::vector<StepTime> times = profile(session);
  double total = 0;
  for (const StepTime& time : times) total += time.milliseconds;
  constexpr int kNumbers = 46;  // width of the columns before the words, in characters
  const auto room = static_cast<size_t>(std::max(30, usable_columns(kTableColumns) - kNumbers));
  fmt::print("\n{:>4} {:>9} {:>6} {:>14} {:>6}   {}\n", "step", "ms", "share", "rate", "of", "what it does");
  size_t at = 0;
  std::string marks;
  for (const Schedule* schedule : session.profiled()) {
    const std::vector<StepDescription> words = describe_steps(*schedule);
    for (size_t s = 0; s < schedule->steps.size(); ++s) {
      const double ms = times.at(at).milliseconds;
      const RateText rate = rate_text(schedule->steps[s], ms, limits);
      marks += rate.mark;
      fmt::print("{:>4} {:>9.4f} {:>5.1f}% {:>14} {:>5.0f}%{}  {}\n", at++, ms, 100 * ms / total, rate.rate,
                 100 * rate.share, rate.mark, words[s].text(room));
    }
  }
  fmt::print("{:>4} {:>9.4f}\n", "sum", total);
  print_limits(limits, marks);
}

// Returns the bytes that a step takes on its device; a GPU has two slots for inputs.
int64_t peak_bytes(const Compiled& compiled, const Target& target) {
  const MemoryAnswer memory = memory_answer(compiled);
  return memory.total() + (target.processor == Processor::gpu ? memory.inputs : 0);
}

void print_json(const RunConfig& config, const StepTimes& times, int threads, const Backend& backend,
                const Compiled& compiled) {
  Json object = {{"step_ms_min", times.min()},
                 {"step_ms_median", times.median()},
                 {"samples_per_s", 1e3 * static_cast<double>(config.batch.minibatch) / times.median()},
                 {"peak_bytes", peak_bytes(compiled, backend.target())},
                 {"threads", threads},
                 {"precision", word_of(kPrecisions, config.arithmetic.precision)},
                 {"library", backend.library()},
                 {"isa", backend.target().isa},
                 {"library_bf16", name(backend.library_dtype(DType::bf16))}};
  fmt::print("{}\n", object.dump());
  std::fflush(stdout);
}

// Prints the time of the step relative to its convolutions alone: the median ratio of interleaved rounds.
void print_convolutions(Session& session, int threads, const Target& target) {
  ConvTimer timer(threads, target.shards, 3);
  if (session.virtual_workers() > 1) return;  // the step then has the convolutions of each virtual worker
  ConvolutionsAlone convolutions(session.compiled().program.at(PartRole::final), timer);
  if (convolutions.empty()) return;
  std::array<double, kRounds> ratios, alone;
  for (int round = 0; round < kRounds; ++round) {
    alone[round] = convolutions.time();
    ratios[round] = milliseconds_of([&] { session.step(); }) / alone[round];
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(alone.begin(), alone.end());
  fmt::print(
      "convolutions alone, each in the fastest of NHWC and blocks of 8 and 16:\n  median {:.1f} ms; the step over "
      "them, "
      "median of {} interleaved rounds: {:.3f}\n",
      alone[kRounds / 2], kRounds, ratios[kRounds / 2]);
  for (const auto& [dtype, times] : convolutions.layouts()) {
    const std::string note = faster_row_note(target.library_isa, dtype, times, table_block(target.library_isa, dtype));
    if (!note.empty()) fmt::print("{}\n", note);
  }
}

}  // namespace

int bench_command(const ToolArguments& arguments) {
  bool json = false, turns = false, evaluates = false;
  std::optional<ToolCall> call = parse_tool_call(
      arguments, "Times a recipe's compiled training step on synthetic input.",
      {{{"--json", "", "one JSON object in place of the table"}, &json},
       {{"--evaluate", "", "times the evaluation of a minibatch in place of a training step"}, &evaluates},
       {{"--turns", "",
         "after the JSON object, lets a rival step in turns: for each number of milliseconds that stands on a line of "
         "standard input, steps for so long and writes a list of the milliseconds per step"},
        &turns}});
  if (!call) return 0;
  const RunConfig& config = call->config;
  Device device = choose_device(config.machine, config.arithmetic.shards);
  const int threads = Pool(static_cast<int>(config.machine.threads)).threads();
  const Task task = timed_task(call->recipe, config);
  Programs programs =
      compile_programs(task, settle_for_one_step(config, device.backend->target(), config.machine.processes));
  StateStore store(*device.backend);
  const Use use = evaluates ? Use::evaluate : Use::update;
  Session session(*device.backend, store, *programs.find(use));
  store.initialise(static_cast<uint32_t>(config.arithmetic.seed));
  fill_timed_inputs(session, task, config);
  const StepTimes times = time_steps(session, config.length.steps);
  if (json || turns) {
    print_json(config, times, threads, *device.backend, session.compiled());
    if (turns) take_turns(session, std::cin, std::cout);
    return 0;
  }
  const double median = times.median();
  const std::string note = with_flags(precision_note(*device.backend, config.arithmetic.precision));
  fmt::print("{} on {}\n{}\nminibatch {}, {}\n", call->recipe.name, device.backend->description(),
             with_flags(reason_and_note(device, config.machine, config.arithmetic.products)), config.batch.minibatch,
             word_of(kPrecisions, config.arithmetic.precision));
  fmt::print("{} steps: min {:.3f} ms, median {:.3f} ms, {:.0f} samples/s{}\n", times.steps, times.min(), median,
             1e3 * static_cast<double>(config.batch.minibatch) / median,
             times.group > 1 ? fmt::format(", timed in groups of {}", times.group) : "");
  fmt::print("{}\n", to_text(memory_answer(session.compiled())));
  std::fflush(stdout);  // the figures stand, whatever becomes of the table
  if (device.backend->target().processor == Processor::gpu) {
    const double copy = device_copy_rate(*device.backend, device_copy_bytes(*device.backend));
    fmt::print("{}", measured_table(session, *device.backend, {profile(session), median, copy},
                                    usable_columns(kTableColumns)));
    return 0;
  }
  print_table(session, threads, product_dtype(config.arithmetic.precision));
  if (note.empty() || !is_mixed(config.arithmetic.precision))
    print_convolutions(session, threads, device.backend->target());
  else
    fmt::print("{}\nthe step over its convolutions: skipped, a figure of bf16 is none where bf16 is widened\n", note);
  return 0;
}

}  // namespace kb
