#include "recipes/inspect/step_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/schedule/describe_steps.h"
#include "recipes/config/network.h"
#include "recipes/perf/memory_answer.h"

namespace kb {
namespace {

// Rates as measured: bytes read and written by a copy of 4 GB, and a bf16 matmul of 8192 x 8192 x 8192 on random data.
const GpuRates kKnown[] = {{"H100", 3.0e12, 798e12}, {"H200", 4.3e12, 788e12}};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Shares of a copy's rate and of a matmul's, and fixed times, fitted to the launches of a step of ResNet-50 (bf16, 256
// images) on an H100 (cuDNN 9.19, driver 580.159): 176 point-wise kernels, 103 column reductions, and 156 convolutions,
// without the first. Each launch was timed between two events, which make it 2 us longer than it is inside a captured
// graph.
constexpr double kCopyShare = 0.98, kLibraryCopyShare = 0.98, kLibraryMultiplyShare = 0.80;
constexpr double kAttentionShare = 0.5;  // share of a matmul's rate for flash attention; assumed
constexpr double kPipeShare = 0.75;      // share of a multiprocessor's pipes; assumed
constexpr double kClock = 1.98e9;        // Hz of an H100's or H200's multiprocessors under load
constexpr double kLaunchMs = 1e-3;       // milliseconds for the start and end of a launch
constexpr double kLibraryCallMs = 6e-3;  // milliseconds for those of cuDNN's kernels, which take longer
constexpr double kLastBlockMs = 11e-3;   // milliseconds for uneven ends of the blocks, and what the last one merges
constexpr int64_t kStream = 16;          // an operand this many times smaller than the largest one is no stream
constexpr int64_t kJudgedBytes = 100'000'000;

bool has_code(const std::vector<ir::Instr>& body, ir::Code code) {
  return std::any_of(body.begin(), body.end(),
                     [&](const ir::Instr& instr) { return instr.code == code || has_code(instr.body, code); });
}

// The operands that the main loop walks through.
struct Streams {
  int64_t read = 0, written = 0;                    // bytes
  int64_t read_elements = 0, written_elements = 0;  // number of elements of the largest operand
};

Streams streams_of(const Step& step, const ir::Kernel& kernel) {
  Streams streams;
  const int64_t largest = *std::max_element(step.extents.begin(), step.extents.end());
  for (size_t i = 0; i < step.extents.size(); ++i) {
    const ir::BufferParam& buffer = kernel.buffers[i];
    if (buffer.scratch || step.extents[i] * kStream < largest) continue;
    const int64_t elements = step.extents[i] / size_of(buffer.dtype);
    if (buffer.written) {
      streams.written += step.extents[i];
      streams.written_elements = std::max(streams.written_elements, elements);
    } else {
      streams.read += step.extents[i];
      streams.read_elements = std::max(streams.read_elements, elements);
    }
  }
  return streams;
}

// Adds the time of the main loop's instructions. The number of rounds follows from the bytes that the loop stores, or,
// if it only reads, from those that it loads.
void add_code(LaunchModel& launch, const cuda::LoopWork& work, const Streams& streams, const Target& target) {
  const bool stores = work.stored_bytes > 0 && streams.written > 0;
  const int64_t a_round = stores ? work.stored_bytes : work.loaded_bytes;
  if (a_round == 0) return;
  const double rounds = static_cast<double>(stores ? streams.written : streams.read) / static_cast<double>(a_round);
  const int64_t elements = stores ? streams.written_elements : streams.read_elements;
  const double cycles = rounds * work.cycles() / static_cast<double>(target.processors);
  launch.code_ms = 1e3 * cycles / (kClock * kPipeShare);
  if (elements > 0) launch.alu = static_cast<double>(work.alu) * rounds / static_cast<double>(elements);
}

LaunchModel model_kernel(const Step& step, const ir::Kernel& kernel, const KernelWork& work, const Target& target,
                         const GpuRates& rates) {
  LaunchModel launch;
  launch.dram_ms = 1e3 * static_cast<double>(step.bytes) / (rates.bytes * kCopyShare);
  if (const auto found = work.find(kernel.name); found != work.end())
    add_code(launch, found->second, streams_of(step, kernel), target);
  const std::vector<ir::Instr>& body = kernel.phases.at(0).body;
  if (has_code(body, ir::Code::tile_mma) && rates.multiply > 0) {
    const double rate = rates.multiply * own_multiply_share(kernel.warpgroups);
    launch.code_ms = std::max(launch.code_ms, 1e3 * static_cast<double>(step.flops) / rate);
  }
  launch.total_ms =
      std::max(launch.dram_ms, launch.code_ms) + kLaunchMs + (has_code(body, ir::Code::last_block) ? kLastBlockMs : 0);
  launch.is_judged = step.bytes >= kJudgedBytes;
  return launch;
}

// Returns the share of a matmul's rate at which a library call multiplies.
double multiply_share(const Schedule& schedule, const Step& step) {
  const Op op = schedule.node_of(step).op;
  return op == Op::flash_attention || op == Op::flash_attention_grad ? kAttentionShare : kLibraryMultiplyShare;
}

LaunchModel model_other(const Schedule& schedule, const Step& step, const GpuRates& rates) {
  LaunchModel launch;
  const bool library = step.cls == FusionClass::library;
  launch.dram_ms = 1e3 * static_cast<double>(step.bytes) / (rates.bytes * (library ? kLibraryCopyShare : kCopyShare));
  if (library && rates.multiply > 0)
    launch.code_ms = 1e3 * static_cast<double>(step.flops) / (rates.multiply * multiply_share(schedule, step));
  launch.total_ms = std::max(launch.dram_ms, launch.code_ms) + (library ? kLibraryCallMs : kLaunchMs);
  return launch;
}

std::string number_text(double value, const char* format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "-";
}

double copy_share(const Step& step, double ms, double copy) {
  return 1e5 * static_cast<double>(step.bytes) / ms / copy;
}

// Returns "0.123 0.98x 91 %": measured milliseconds, their ratio to the predicted ones, and the share of the copy's
// rate.
std::string measured_text(const LaunchModel& launch, const Step& step, double ms, double copy) {
  std::string text = fmt::format("  {:>8.4f}", ms);
  if (!launch.is_judged || ms <= 0) return text + fmt::format("{:>16}", "");
  text += fmt::format("  {:>5.2f}x", ms / launch.total_ms);
  return text + (copy > 0 ? fmt::format("  {:>4.0f} %", copy_share(step, ms, copy)) : "");
}

// Returns a note if a judged launch is faster than a copy, else "".
std::string cache_note(const StepModel& model, const std::vector<const Schedule*>& programs,
                       const std::vector<double>& measured, double copy) {
  if (measured.empty() || copy <= 0) return "";
  size_t at = 0;
  for (const Schedule* schedule : programs)
    for (const Step& step : schedule->steps) {
      const double ms = measured.at(at);
      if (model.launches[at++].is_judged && ms > 0 && copy_share(step, ms, copy) > 100)
        return "above 100 % of a copy: a part of the bytes was in the cache, which is faster than memory\n";
    }
  return "";
}

}  // namespace

GpuRates parse_gpu_rates(const std::string& text) {
  for (const GpuRates& one : kKnown)
    if (lower_case(text) == lower_case(one.name)) return one;
  const ProcessorRates rates = parse_rates(text);
  return {text, rates.bytes, rates.operations};
}

std::optional<GpuRates> known_gpu(const std::string& device) {
  for (const GpuRates& one : kKnown)
    if (device.find(one.name) != std::string::npos) return one;
  return std::nullopt;
}

StepModel model_step(const std::vector<const Schedule*>& programs, const KernelWork& work, const Target& target,
                     const GpuRates& rates) {
  StepModel model;
  for (const Schedule* schedule : programs)
    for (const Step& step : schedule->steps) {
      LaunchModel launch;
      if (const ir::Kernel* kernel = schedule->kernel_of(step)) {
        launch = model_kernel(step, *kernel, work, target, rates);
        model.generated_bytes += step.bytes;
        model.generated_ms += launch.total_ms;
      } else if (step.cls == FusionClass::library || step.cls == FusionClass::copy) {
        launch = model_other(*schedule, step, rates);
        model.library_bytes += step.bytes;
        model.library_ms += launch.total_ms;
      }
      model.launches.push_back(launch);
    }
  return model;
}

std::string to_text(const StepModel& model, const std::vector<const Schedule*>& programs, const GpuRates& rates,
                    const std::vector<double>& measured, double copy, int columns) {
  std::string text = fmt::format(
      "\npredicted for {}: {:.3g} TB/s copied, {}\n", rates.name, rates.bytes / 1e12,
      rates.multiply > 0 ? fmt::format("{:.0f} TFLOP/s", rates.multiply / 1e12) : "the matmul rate not known");
  const std::string head = fmt::format("{:>4} {:>9} {:>8} {:>8} {:>6} {:>9}{}", "step", "bytes", "DRAM ms", "code ms",
                                       "ALU", "predicted", measured.empty() ? "" : "  measured   ratio  of copy");
  const auto room = static_cast<size_t>(std::max(30, columns - static_cast<int>(head.size()) - 2));
  text += fmt::format("{}  what it does\n", head);
  size_t at = 0;
  for (const Schedule* schedule : programs) {
    const std::vector<StepDescription> words = describe_steps(*schedule);
    for (size_t s = 0; s < schedule->steps.size(); ++s, ++at) {
      const Step& step = schedule->steps[s];
      const LaunchModel& launch = model.launches[at];
      const std::string beside =
          measured.empty() ? "" : fmt::format("{:<27}", measured_text(launch, step, measured.at(at), copy));
      text += fmt::format("{:>4} {:>9} {:>8} {:>8} {:>6} {:>9.4f}{}  {}\n", at, bytes_text(step.bytes),
                          number_text(launch.dram_ms, "{:.4f}"), number_text(launch.code_ms, "{:.4f}"),
                          number_text(launch.alu, "{:.1f}"), launch.total_ms, beside, words[s].text(room));
    }
  }
  return text + cache_note(model, programs, measured, copy) +
         fmt::format(
             "predicted {:.2f} ms: generated kernels {:.2f} ms for {}, library calls and copies {:.2f} ms for {}\n"
             "ALU: operations of the integer and logic pipe an element\n",
             model.milliseconds(), model.generated_ms, bytes_text(model.generated_bytes), model.library_ms,
             bytes_text(model.library_bytes));
}

}  // namespace kb
