#include "recipes/run/process_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "recipes/perf/memory_answer.h"
#include "recipes/train/feed.h"
#include "recipes/train/fit.h"
#include "runtime/usable_memory.h"

namespace kb {
namespace {

// Returns the bytes of host memory that this process has now; 0 if the system does not say.
int64_t bytes_now() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;  // pages
  return file >> size >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

// Returns the bytes for decoding: every loader thread may read the largest image at once, and an evaluation one more.
int64_t decoding_bytes(const Task& task, int loader_threads) {
  int64_t most = 0;
  for (const Source* source : {task.train.get(), task.test.get(), task.valid.get()})
    if (source) most = std::max(most, source->reading_bytes());
  return (loader_threads + 1) * most;
}

}  // namespace

ProcessMemory process_memory(const Ready& ready) {
  const LoadedPrograms& programs = ready.programs;
  const int threads = ready.settled.loader_threads;
  ProcessMemory memory;
  if (ready.settled.target.processor == Processor::cpu) memory.programs = programs.bytes;
  memory.itself = std::max<int64_t>(0, bytes_now() - memory.programs);
  const int batches = host_batches(programs.update(), *ready.task.train, threads);
  int64_t inputs = 0;  // bytes of the largest minibatch
  for (const Session* step : programs.all(Use::update))
    inputs = std::max(inputs, memory_answer(step->compiled()).inputs);
  memory.minibatches = batches * inputs;
  memory.decoding = decoding_bytes(ready.task, threads);
  if (ready.machine.world.leads()) memory.checkpoint = state_bytes(programs.store);
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

// Returns a note if the process takes more than arithmetic.memory. If programs are on a GPU, the limit is that of the
// device's memory and says nothing about the process.
std::string over_memory_note(const ProcessMemory& memory, double gigabytes) {
  const bool is_bound = gigabytes > 0 && memory.programs > 0;
  if (!is_bound || memory.total() <= run_memory(gigabytes, 0)) return "";
  return fmt::format("NOTE: --memory {} holds the programs, which take {}, but not this process, which takes {}",
                     gigabytes, bytes_text(memory.programs), bytes_text(memory.total()));
}

// Returns one or more lines per program.
std::vector<std::string> lines_of_programs(const LoadedPrograms& programs, const Settled& settled) {
  const MemoryAnswer first = memory_answer(programs.update().compiled());
  std::vector<std::string> lines = {to_text(first)};
  int64_t arena = first.arena;  // bytes of the one arena that all programs share
  int64_t told = first.total();
  const auto more = [&](const std::string& what, const std::vector<const Session*>& sessions) {
    int64_t bytes = 0;
    for (const Session* session : sessions) {
      if (!session) continue;
      const MemoryAnswer answer = memory_answer(session->compiled());
      bytes += answer.own() + std::max<int64_t>(0, answer.arena - arena);
      arena = std::max(arena, answer.arena);
    }
    lines.push_back(fmt::format("{} {} more", what, bytes_text(bytes)));
    told += bytes;
  };
  more("evaluation takes", {&programs.evaluate()});
  if (const Session* averages = programs.find(Use::evaluate_averages))
    more("evaluation of the averaged parameters takes", {averages});
  if (const Session* estimate = programs.find(Use::estimate))
    more("running statistics of batch norm anew take", {estimate});
  for (size_t bucket = 1; bucket < settled.buckets.size(); ++bucket)
    more(fmt::format("steps and evaluation of length {} take", settled.buckets[bucket].length),
         {programs.find(Use::update, 0, bucket), programs.find(Use::evaluate, 0, bucket),
          programs.find(Use::evaluate_averages, 0, bucket)});
  for (size_t phase = 1; phase < settled.plan.phase_count(); ++phase)
    for (size_t bucket = 0; bucket < settled.buckets.size(); ++bucket)
      more(fmt::format("steps of minibatch {} take", settled.batch_of(phase, bucket).global),
           {programs.find(Use::update, phase, bucket), programs.find(Use::evaluate, phase, bucket),
            programs.find(Use::evaluate_averages, phase, bucket)});
  if (programs.find(Use::replica))
    lines.push_back(
        fmt::format("copies of the parameters, and their programs, take {} more", bytes_text(programs.bytes - told)));
  return lines;
}

}  // namespace

std::vector<std::string> memory_lines(const Ready& ready, const ProcessMemory& memory, bool all) {
  const int64_t of_programs = ready.programs.bytes;
  std::vector<std::string> lines;
  if (all) {
    lines = lines_of_programs(ready.programs, ready.settled);
    lines.push_back(fmt::format("all programs together take {}", bytes_text(of_programs)));
    lines.push_back(to_text(memory));
  } else {
    lines.push_back(memory_line(memory, of_programs));
  }
  const double gigabytes = ready.settled.config.arithmetic.memory;
  const int processes = ready.machine.world.communicator().placement().local_size;
  for (std::string note :
       {over_memory_note(memory, gigabytes), over_machine_note(memory.total(), processes, usable_memory())})
    if (!note.empty()) lines.push_back(std::move(note));
  return lines;
}

std::string over_machine_note(int64_t process_bytes, int64_t processes, int64_t machine_bytes) {
  if (process_bytes * processes <= machine_bytes) return "";
  return fmt::format("NOTE: the machine has {}, and the run's processes on it ({}) take {}: the system may end them",
                     bytes_text(machine_bytes), processes, bytes_text(process_bytes * processes));
}

int64_t state_bytes(const StateStore& store, bool slots) {
  int64_t bytes = 0;
  for (const TensorView& tensor : store.views(slots)) bytes += tensor.type.bytes();
  return bytes;
}

int64_t peak_process_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (int64_t kibibytes = 0; std::sscanf(line.c_str(), "VmHWM: %" SCNd64, &kibibytes) == 1) return 1024 * kibibytes;
  return 0;
}

}  // namespace kb
