#include "recipes/inspect/measured_step.h"

#include <fmt/format.h>

#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/step_model.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {

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
