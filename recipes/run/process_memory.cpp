#include "recipes/run/process_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "recipes/perf/memory_answer.h"
#include "recipes/train/feed.h"

namespace kb {
namespace {

// Bytes of this process that are in the machine's memory; 0 where the system does not say.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;  // pages
  return file >> size >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t state_bytes(const StateStore& store) {
  int64_t bytes = 0;
  for (const TensorView& tensor : store.views()) bytes += tensor.type.bytes();
  return bytes;
}

// Every loader thread reads the largest image at once, and an evaluation does beside them.
int64_t decoding_bytes(const Task& task, int loader_threads) {
  int64_t most = 0;
  for (const Source* source : {task.train.get(), task.test.get(), task.valid.get()})
    if (source) most = std::max(most, source->reading_bytes());
  return (loader_threads + 1) * most;
}

}  // namespace

ProcessMemory process_memory(const RunSetup& setup) {
  const LoadedPrograms& programs = *setup.programs;
  ProcessMemory memory;
  if (setup.target.processor == Processor::cpu) memory.programs = total_memory(all_of(programs));
  memory.itself = std::max<int64_t>(0, resident_bytes() - memory.programs);
  const int batches = host_batches(programs.training, *setup.task.train, setup.loader_threads);
  memory.minibatches = batches * memory_answer(programs.training.compiled()).inputs;
  memory.decoding = decoding_bytes(setup.task, setup.loader_threads);
  if (setup.world.leads()) memory.checkpoint = state_bytes(programs.store);
  return memory;
}

std::string to_text(const ProcessMemory& memory) {
  std::string text = fmt::format("this process takes {}: ", bytes_text(memory.total()));
  if (memory.programs > 0) text += fmt::format("programs {}, ", bytes_text(memory.programs));
  text += fmt::format("code and data {},\n  minibatches ahead {}", bytes_text(memory.itself),
                      bytes_text(memory.minibatches));
  if (memory.decoding > 0)
    text += fmt::format(", images that are held whole while they are decoded {}", bytes_text(memory.decoding));
  if (memory.checkpoint > 0) text += ", the checkpoint's copy of the state " + bytes_text(memory.checkpoint);
  return text;
}

namespace {

std::string memory_line(const ProcessMemory& memory, int64_t of_programs) {
  const std::string process = "this process takes " + bytes_text(memory.total());
  if (memory.programs == 0)
    return fmt::format("memory: programs take {} of the device, {} (--memory-report lists all)",
                       bytes_text(of_programs), process);
  return fmt::format("memory: {}, of which programs {} (--memory-report lists all)", process, bytes_text(of_programs));
}

// With programs on a GPU --memory bounds the device's memory, and says nothing of the process.
std::string over_memory_note(const ProcessMemory& memory, const RunConfig& config) {
  const bool is_bound = config.arithmetic.memory > 0 && memory.programs > 0;
  if (!is_bound || memory.total() <= run_memory(config, 0)) return "";
  return fmt::format("NOTE: --memory {} holds the programs, which take {}, but not this process, which takes {}",
                     config.arithmetic.memory, bytes_text(memory.programs), bytes_text(memory.total()));
}

// A line or more a program.
std::vector<std::string> lines_of_programs(const LoadedPrograms& programs, const RunConfig& config) {
  std::vector<std::string> lines = {to_text(memory_answer(programs.training.compiled()))};
  const auto more = [&](const std::string& what, const Session& session) {
    lines.push_back(fmt::format("{} {} more", what, bytes_text(memory_answer(session.compiled()).own())));
  };
  more("evaluation takes", programs.inference);
  if (programs.averaged) more("evaluation of the averaged parameters takes", *programs.averaged);
  if (programs.statistics) more("running statistics of batch norm anew take", *programs.statistics);
  int64_t minibatch = config.batch.minibatch;
  for (size_t i = 0; i < programs.grown.size(); ++i)
    more(fmt::format("steps of minibatch {} take", minibatch *= config.batch.growths.at(i).factor), *programs.grown[i]);
  return lines;
}

}  // namespace

std::vector<std::string> memory_lines(const RunSetup& setup, const ProcessMemory& memory) {
  const LoadedPrograms& programs = *setup.programs;
  const int64_t of_programs = total_memory(all_of(programs));
  std::vector<std::string> lines;
  if (setup.config.looking.memory_report || setup.config.looking.dry_run) {
    lines = lines_of_programs(programs, setup.config);
    lines.push_back(fmt::format("all programs together take {}", bytes_text(of_programs)));
    lines.push_back(to_text(memory));
  } else {
    lines.push_back(memory_line(memory, of_programs));
  }
  if (std::string note = over_memory_note(memory, setup.config); !note.empty()) lines.push_back(std::move(note));
  return lines;
}

int64_t peak_process_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (int64_t kibibytes = 0; std::sscanf(line.c_str(), "VmHWM: %" SCNd64, &kibibytes) == 1) return 1024 * kibibytes;
  return 0;
}

}  // namespace kb
