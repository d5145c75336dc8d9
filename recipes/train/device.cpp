#include "recipes/train/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/nccl.h"
#include "runtime/cuda/open.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

// Greatest automatic number of loader threads. The least is 1: even if no core is left, one thread pays off, because it
// fills batches while the cores of a step wait for each other.
constexpr int kMostLoaderThreads = 4;

// Returns the first two lines of an error as one, such as "no GPU can be used, missing: the CUDA driver".
std::string what_is_missing(const std::string& error) {
  const size_t first = error.find("\n  "), second = error.find('\n', first + 1);
  return first == std::string::npos ? error
                                    : error.substr(0, first) + ", " + error.substr(first + 3, second - first - 3);
}

// Returns why `machine.device = auto` must choose CPUs; empty if it may try GPUs.
std::string what_only_cpus_have(const MachineOptions& options, bool shared) {
  if (!shared) return "";
  const Algorithm algorithm = options.all_reduce;
  if (algorithm != Algorithm::halving_doubling && algorithm != Algorithm::nccl)
    return fmt::format("machine.all_reduce = {} sums in the memory of the host", word_of(kAllReduces, algorithm));
  return options.net ? "machine.net slows down the messages of the host" : "";
}

}  // namespace

Device choose_device(const MachineOptions& options, int64_t shards, World* world) {
  const bool shared = world && world->size() > 1;
  const Algorithm algorithm = options.all_reduce;
  const auto gpu = [&](std::string reason) -> Device {
    CudaOptions cuda_options{.deterministic = !options.fast,
                             .sync_steps = options.sync_steps,
                             .cache_directory = "",
                             .communicator = world ? &world->communicator() : nullptr,
                             .heartbeat = world ? world->heartbeat() : nullptr,
                             .all_reduce = shared ? algorithm : Algorithm::halving_doubling};
    Device device{open_cuda_backend(cuda_options), std::move(reason), ""};
    if (shared) device.sums = fmt::format("{}, {}", cuda::open_nccl()->version_text(), word_of(kAllReduces, algorithm));
    return device;
  };
  const auto cpu = [&](std::string reason) -> Device {
    if (algorithm == Algorithm::nccl)
      throw UsageError(fmt::format("machine.all_reduce = nccl: expected GPUs, got {}", reason));
    return {make_cpu_backend({.threads = static_cast<int>(options.threads),
                              .shards = static_cast<int>(shards),
                              .cache_directory = "",
                              .communicator = world ? &world->communicator() : nullptr,
                              .heartbeat = world ? world->heartbeat() : nullptr}),
            std::move(reason), ""};
  };
  if (options.device == DeviceChoice::cuda) try {
      return gpu("machine.device = cuda");
    } catch (const Error& error) {
      throw Error(fmt::format("machine.device = cuda: {}\n  or:      machine.device = cpu", error.what()));
    }
  if (options.device == DeviceChoice::cpu) return cpu("machine.device = cpu");
  if (const std::string only = what_only_cpus_have(options, shared); !only.empty())
    return cpu(fmt::format("machine.device = auto: {}", only));
  try {
    return gpu(shared ? "machine.device = auto: there is a GPU for each process"
                      : "machine.device = auto: there is a GPU");
  } catch (const Error& error) {
    return cpu(fmt::format("machine.device = auto: {}", what_is_missing(error.what())));
  }
}

std::string algorithm_choices_text(const Backend& backend) {
  const Backend::AlgorithmChoices picks = backend.algorithm_choices();
  if (picks.empty()) return "";
  return Json{{"made_by", backend.description()}, {"picks", picks}}.dump();
}

std::string use_algorithm_choices(Backend& backend, const std::string& text) {
  if (text.empty() || backend.target().processor == Processor::cpu) return "";
  const JsonValue json = parse_json(text, "picks");
  const std::string before = json.get<std::string>("made_by");
  if (before != backend.description())
    return fmt::format(
        "NOTE: the library's implementations are chosen anew, so bits may differ: those of this run were chosen on {}",
        before);
  backend.use_algorithm_choices(json.at("picks").texts());
  return "";
}

Programs compile_alike(World& world, Backend& backend, const std::function<Programs()>& compile) {
  if (backend.target().processor == Processor::cpu || world.size() == 1) return compile();
  if (!world.leads()) {
    use_algorithm_choices(backend, world.broadcast(""));
    return compile();
  }
  try {
    Programs programs = compile();
    world.broadcast(algorithm_choices_text(backend));
    return programs;
  } catch (const Error&) {
    world.broadcast(algorithm_choices_text(backend));  // the other processes wait for it, and then meet the same error
    throw;
  }
}

std::string precision_note(const Backend& backend, Precision precision) {
  if (precision == Precision::tf32 && backend.target().processor == Processor::cpu)
    return "NOTE: arithmetic.precision = tf32 changes nothing on a CPU, which has no units of it: it computes as in "
           "f32";
  if (!is_mixed(precision)) return "";
  const DType low = precision == Precision::f16 ? DType::f16 : DType::bf16;
  if (backend.library_dtype(low) == low) return "";
  return fmt::format(
      "NOTE: arithmetic.precision = {0}: no {0} units here (or no library that uses them), so convolutions and matrix "
      "products "
      "widen to {1} and round their results: the same meaning, no speed gained",
      word_of(kPrecisions, precision), name(backend.library_dtype(low)));
}

std::string without_effect_note(const Backend& backend, const MachineOptions& options, Products products) {
  if (backend.target().processor != Processor::cpu) return "";
  const auto note = [](const char* member, const char* why) {
    return fmt::format("NOTE: {} changes nothing on a CPU: {}", member, why);
  };
  if (options.fast && options.all_reduce == Algorithm::halving_doubling)
    return note("machine.fast", "its steps give the same bits on every run as fast as it can");
  if (options.sync_steps) return note("machine.sync_steps", "its steps run one after the other anyway");
  if (products != Products::picked)
    return note("arithmetic.products", "all of its convolutions of 16 bits go to the library");
  return "";
}

std::string reason_and_note(const Device& device, const MachineOptions& options, Products products) {
  const std::string note = without_effect_note(*device.backend, options, products);
  return note.empty() ? device.reason : device.reason + "\n" + note;
}

int choose_loader_threads(std::optional<int64_t> asked, int threads, int processors) {
  if (asked) return static_cast<int>(*asked);
  const int left = processors - (threads > 0 ? threads : processors);
  return std::clamp(left, 1, kMostLoaderThreads);
}

}  // namespace kb
