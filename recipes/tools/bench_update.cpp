// summary: time of an optimizer's update of all parameters against a copy of the bytes that it must move
//
// The update is timed inside whole training steps, so that its vectors are in the caches no more than in training. It
// must read the parameters, the slots and the gradient once, and write parameters and slots once. If the optimizer uses
// norms of layers, the vectors of which it takes norms are read once more before. The limit is the better of a plain
// and a non-temporal copy in the same round; the result is the median of the rounds' ratios.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/schedule/describe_steps.h"
#include "graph/error.h"
#include "recipes/config/run_task.h"
#include "recipes/perf/copy_bandwidth.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/perf/rounds.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "recipes/train/timed_inputs.h"
#include "runtime/json.h"

namespace kb {
namespace {

constexpr int kRounds = 15;
constexpr int64_t kCopyBytes = 128 << 20;  // bytes of a copied array

bool is_flat(const Buffer& buffer) { return buffer.kind == BufferKind::store && buffer.name.starts_with("flat."); }

// Returns the numbers of the launches after the last library call that contribute to a write of a flat vector, in
// order. After that call all gradients are complete.
std::vector<size_t> update_steps(const Schedule& schedule) {
  std::set<int32_t> wanted;  // numbers of the buffers that lead to such a write
  for (size_t b = 0; b < schedule.buffers.size(); ++b)
    if (is_flat(schedule.buffers[b])) wanted.insert(static_cast<int32_t>(b));
  std::vector<size_t> steps;
  for (size_t s = schedule.steps.size(); s-- > 0 && schedule.steps[s].launch();) {
    const Step& step = schedule.steps[s];
    const auto written = step.operands.begin() + step.inputs;
    if (std::none_of(written, step.operands.end(), [&](const View& view) { return wanted.contains(view.buffer); }))
      continue;
    steps.insert(steps.begin(), s);
    for (const View& view : step.operands) wanted.insert(view.buffer);
  }
  return steps;
}

// Returns the bytes that an update of all parameters must move, from its slots and the vectors of which it takes norms.
int64_t least_bytes(const Compiled& compiled, const std::string& optimizer) {
  int64_t state = 1, norms = 0;  // vectors: parameters and slots; those of which norms are taken
  for (const Variable& variable : compiled.variables) state += variable.kind == VariableKind::slot;
  if (optimizer.starts_with("lar")) norms = 2;  // norms of parameters and gradients
  if (optimizer == "lamb") norms = state;       // norms of parameters, and of directions, which the new moments give
  return (2 * state + 1 + norms) * compiled.space.length * size_of(compiled.space.dtype);
}

struct UpdateRound {
  std::vector<double> launches;  // milliseconds of each launch of the update
  double copy = 0;               // bytes read and written per second by the better copy
  // Returns the milliseconds of the whole update.
  double update() const {
    double sum = 0;
    for (const double ms : launches) sum += ms;
    return sum;
  }
};

UpdateRound measure(Session& session, const std::vector<size_t>& steps, CopyBandwidth& copy) {
  UpdateRound round;
  const std::vector<StepTime> times = session.profile().steps;
  const size_t before = times.size() - session.compiled().program.at(PartRole::final).steps.size();
  for (const size_t step : steps) round.launches.push_back(times.at(before + step).milliseconds);
  const double fastest = std::min(milliseconds_of([&] { copy.plain(); }), milliseconds_of([&] { copy.streaming(); }));
  round.copy = 2e3 * static_cast<double>(kCopyBytes) / fastest;
  return round;
}

void print_launches(const Schedule& schedule, const std::vector<size_t>& steps,
                    const std::vector<UpdateRound>& rounds) {
  const std::vector<StepDescription> words = describe_steps(schedule);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = schedule.steps[steps[i]];
    const double ms = median(rounds, [&](const UpdateRound& round) { return round.launches[i]; });
    fmt::print("{:8.3f} ms {:8.1f} MB {:6.1f} GB/s  {}\n", ms, static_cast<double>(step.bytes) / 1e6,
               static_cast<double>(step.bytes) / ms / 1e6, words[steps[i]].text());
  }
}

}  // namespace

int bench_update_command(const ToolArguments& arguments) {
  bool json = false;
  const std::optional<ToolCall> call =
      parse_tool_call(arguments, "Times the update of all parameters beside a copy of the bytes that it must move.",
                      {{{"--json", "", "one JSON object in place of the table"}, &json}});
  if (!call) return 0;
  const RunConfig& config = call->config;
  const Device device = choose_device(config.machine, config.arithmetic.shards);
  if (device.backend->target().processor != Processor::cpu)
    throw UsageError("--device: expected a CPU, whose copies the update is held against\n  hint:     --device cpu");
  const Task task = timed_task(call->recipe, config);
  StateStore store(*device.backend);
  Session session(
      *device.backend, store,
      compile_training(task, settle_for_one_step(config, device.backend->target(), config.machine.processes)));
  store.initialise(static_cast<uint32_t>(config.arithmetic.seed));
  fill_timed_inputs(session, task, config);

  const int threads = Pool(static_cast<int>(config.machine.threads)).threads();
  const Schedule& schedule = session.compiled().program.at(PartRole::final);
  const std::vector<size_t> steps = update_steps(schedule);
  ensure(!steps.empty(), "a training step without an update");
  CopyBandwidth copy(kCopyBytes, threads);
  std::vector<UpdateRound> rounds;
  session.step();
  for (int i = 0; i < kRounds; ++i) rounds.push_back(measure(session, steps, copy));

  const auto least = static_cast<double>(least_bytes(session.compiled(), config.learning.optimizer));
  const double update = median(rounds, [](const UpdateRound& round) { return round.update(); });
  const double copied = median(rounds, [](const UpdateRound& round) { return round.copy; });
  const double ratio =
      median(rounds, [&](const UpdateRound& round) { return 1e3 * least / round.update() / round.copy; });
  if (json) {
    const Json object = {{"optimizer", config.learning.optimizer},
                         {"threads", threads},
                         {"launches", steps.size()},
                         {"update_ms", update},
                         {"least_bytes", least},
                         {"copy_bytes_per_s", copied},
                         {"ratio", ratio}};
    fmt::print("{}\n", object.dump());
    return 0;
  }
  fmt::print("{}: {} by {} in {} launches, {} threads; medians of {} rounds\n", call->recipe.name,
             bytes_text(session.compiled().space.length * size_of(session.compiled().space.dtype)),
             config.learning.optimizer, steps.size(), threads, kRounds);
  print_launches(schedule, steps, rounds);
  fmt::print(
      "update {:.2f} ms, must move {:.0f} MB; copy {:.1f} GB/s (read + write)\nshare of copy bandwidth {:.3f}{}\n",
      update, least / 1e6, copied / 1e9, ratio,
      ratio > 1 ? ": above 1, for a part of the bytes is in the processor's cache" : "");
  return 0;
}

}  // namespace kb
