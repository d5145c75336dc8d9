#include "recipes/inspect/step_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <ostream>

#include "graph/error.h"
#include "graph/parsed_number.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/step_model.h"
#include "recipes/perf/rounds.h"
#include "runtime/json.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

constexpr int kWarmSteps = 3;
constexpr int64_t kGroup = 10;  // number of steps per group, as in tests/peers/torch_steps.py
constexpr int64_t kLeastTimes = 10, kMostSteps = 2000;
constexpr double kSeconds = 3;

// Takes a group's steps. On a device each one is waited for while the next one runs, as a trainer does; the last, at
// once.
void run_group(Session& session, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    session.step();
    session.read_scalar("loss", session.lag());
  }
  session.wait();
}

double time_group(Session& session, int64_t steps) {
  return milliseconds_of([&] { run_group(session, steps); });
}

int64_t group_of(const Session& session) { return session.lag() > 0 ? kGroup : 1; }

}  // namespace

StepTimes time_steps(Session& session, int64_t steps) {
  for (int i = 0; i < kWarmSteps; ++i) session.step();
  session.wait();
  StepTimes times;
  times.group = group_of(session);
  double total = 0;
  const auto more = [&] {
    if (steps > 0) return times.steps < steps;
    return static_cast<int64_t>(times.ms.size()) < kLeastTimes || (total < 1e3 * kSeconds && times.steps < kMostSteps);
  };
  while (more()) {
    const int64_t group = steps > 0 ? std::min(times.group, steps - times.steps) : times.group;
    const double ms = time_group(session, group);
    times.ms.push_back(ms / static_cast<double>(group));
    times.steps += group;
    total += ms;
  }
  std::sort(times.ms.begin(), times.ms.end());
  return times;
}

void take_turns(Session& session, std::istream& in, std::ostream& out) {
  const int64_t group = group_of(session);
  for (std::string line; std::getline(in, line);) {
    const std::optional<double> turn = parsed_number<double>(line);
    if (!turn || !std::isfinite(*turn))
      throw Error("--turns: a line of standard input is a turn\n  expected: a number of milliseconds\n  got:      " +
                  line);
    run_group(session, group);
    std::vector<double> times;
    for (double total = 0; times.empty() || total < *turn; total += times.back() * static_cast<double>(group))
      times.push_back(time_group(session, group) / static_cast<double>(group));
    out << Json(times).dump() << std::endl;
  }
}

std::string measured_table(const Session& session, const Backend& backend, const MeasuredStep& measured, int columns) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  const DeviceKernels kernels =
      compile_device_kernels(session.compiled().program, backend.target().isa, options.cache_dir.string(),
                             usable_processors(), options.cuobjdump);
  const GpuRates rates = known_gpu(backend.description()).value_or(GpuRates{"this device", measured.copy, 0});
  const std::vector<const Schedule*> programs = session.profiled();
  const StepModel model = model_step(programs, kernels.work, backend.target(), rates);
  std::vector<double> times;
  double sum = 0;
  for (const StepTime& time : measured.launches) {
    times.push_back(time.milliseconds);
    sum += time.milliseconds;
  }
  std::string text = fmt::format("copy bandwidth {:.1f} GB/s (read + write)\n", measured.copy / 1e9);
  text += to_text(model, programs, rates, times, measured.copy, columns);
  for (const std::string& warning : kernels.warnings) text += "NOTE: " + warning + "\n";
  return text +
         fmt::format("measured {:.3f} ms as one graph; {:.3f} ms is the sum of its launches, each between two events\n",
                     measured.graph_ms, sum);
}

}  // namespace kb
