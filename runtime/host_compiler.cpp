#include "runtime/host_compiler.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <sstream>
#include <thread>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/kernel_entry.h"
#include "runtime/process.h"
#include "runtime/processor.h"
#include "runtime/sha256.h"
#include "runtime/trusted_folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// The time to wait for the system to make a process when it makes none at present.
constexpr std::chrono::milliseconds kPatience{10000};

// The flags of every kernel. At most -O2: the printers write vectors themselves, and -O3 only costs time (54 kernels:
// 0.93 s against 1.10 s). Level 1 is -Og, which compiles the kernels of four recipes' tests in 25 s where -O1 takes 33
// s; the tests' other time stays the same. Never -ffast-math, which also links code that changes the rounding mode of
// the whole process. No if-conversion of loops: g++ would make one masked load of conditional loads and, if it knows
// the mask, a load of the whole vector and a blend, which reads past the end of a buffer. With sanitizers -O1, which
// halves the compile time and changes no bit of the results; and no check of pointer arithmetic, which is half of the
// compile time and which AddressSanitizer repeats at the access.
std::vector<std::string> compile_flags(const std::string& version, const std::string& sanitize, int level) {
  std::vector<std::string> flags = {"-x", "c++", "-std=c++17", "-march=native", "-ffp-contract=off"};
  const auto add = [&](std::initializer_list<std::string> more) { flags.insert(flags.end(), more); };
  add({"-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-w"});
  if (version.find("clang") == version.npos) add({"-fno-tree-loop-if-convert"});  // clang does not know this flag
  if (sanitize.empty())
    add({level == 1 ? "-Og" : fmt::format("-O{}", level), "-nostdlib"});
  else
    add({"-O1", "-g1", "-fsanitize=" + sanitize, "-fno-sanitize=null,object-size,pointer-overflow",
         "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"});
  return flags;
}

// The libraries that generated code may call: libm for f64, and libgcc for conversions that the instruction set lacks.
// Without the start files and the C++ library, linking takes a third of the time.
std::vector<std::string> link_libraries() { return {"-lm", "-lgcc"}; }

// Returns size and time of the file that `path` leads to, as text; empty when there is none.
std::string file_stamp(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return "";
  const auto written = fs::last_write_time(path, error);
  return error ? "" : fmt::format("{} {}", size, written.time_since_epoch().count());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Starts one more process. If the system makes none, `collect` waits for the oldest one that runs; if none of ours
// runs, other processes may end within kPatience.
template <class Collect>
void start(std::deque<Process>& running, const std::vector<std::string>& argv, Collect collect) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    try {
      return void(running.emplace_back(argv, Orphan::ends));
    } catch (const NoProcess&) {
      if (!running.empty())
        collect();
      else if (std::chrono::steady_clock::now() - begin < kPatience)
        std::this_thread::sleep_for(kPatience / 100);
      else
        throw;
    }
  }
}

ProcessResult run(const std::vector<std::string>& argv) {
  std::deque<Process> process;
  start(process, argv, [] {});
  return process.front().wait();
}

std::string ask_version(const std::string& path) {
  const ProcessResult result = run({path, "--version"});
  if (result.status != 0)
    throw Error(fmt::format("'{} --version' failed with status {}: is it a C++ compiler?\n{}", path, result.status,
                            result.output));
  return first_line(result.output);
}

// The record that the cache keeps of a compiler: the stamp of its file and its version, one line each.
struct Memory {
  std::string stamp;
  std::string version;
};

Memory recall(const TrustedFolder& folder, const std::string& record) {
  const TrustedFile file = folder.open(record);
  std::istringstream lines(file.exists() && file.refusal().empty() ? file.read() : "");
  Memory memory;
  std::getline(lines, memory.stamp);
  std::getline(lines, memory.version);
  return memory;
}

// Writes the record. If that fails, the next start asks the compiler again, and nothing else is lost.
void remember(const fs::path& record, const Memory& memory) {
  make_private_folder(record.parent_path());
  try {
    write_file_atomically(record, memory.stamp + "\n" + memory.version + "\n", kEntryMode);
  } catch (const Error&) {
  }
}

std::string find_version(const std::string& path, const fs::path& cache_dir) {
  const std::string stamp = file_stamp(path);
  if (cache_dir.empty()) return stamp.empty() ? "" : ask_version(path);
  const std::string record = fmt::format("{}{}.txt", kCompilerPrefix, sha256_hex(path).substr(0, 16));
  const Memory memory = recall(TrustedFolder(cache_dir), record);
  if (stamp.empty() || (stamp == memory.stamp && !memory.version.empty())) return memory.version;
  const std::string version = ask_version(path);
  remember(cache_dir / record, {stamp, version});
  return version;
}

// Returns the compiler, the flags of every kernel, and `words`.
std::vector<std::string> with_flags(const HostCompiler& compiler, const std::vector<std::string>& words) {
  std::vector<std::string> argv = {compiler.path};
  argv.insert(argv.end(), compiler.flags.begin(), compiler.flags.end());
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

std::vector<std::string> arguments(const HostCompiler& compiler, const CompileJob& job) {
  std::vector<std::string> argv = with_flags(compiler, {"-o", job.object.string(), job.source.string()});
  argv.insert(argv.end(), compiler.libraries.begin(), compiler.libraries.end());
  return argv;
}

void require_compiler(const HostCompiler& compiler) {
  if (!file_stamp(compiler.path).empty()) return;
  throw Error(
      fmt::format("the host C++ compiler '{}' (named by {}) is not there, and kernels have to be compiled.\n"
                  "hint: install it (Debian, Ubuntu: apt install g++), or name another with KB_CXX=/path/to/g++; "
                  "where every kernel is in the cache, no compiler is needed",
                  compiler.path, compiler.origin));
}

// Returns the result of a compilation. A program that is no compiler may end without an error and without a shared
// object, or fail without a word.
CompileResult judge(const CompileJob& job, ProcessResult process) {
  const bool ended = process.status == 0;
  if (ended && !file_stamp(job.object).empty()) return {.ok = true, .diagnostics = std::move(process.output)};
  if (ended)
    return {.diagnostics = fmt::format("it ended without an error but wrote no {}: is it a C++ compiler?\n{}",
                                       job.object.filename().string(), process.output)};
  if (process.output.empty()) return {.diagnostics = fmt::format("it ended with status {}", process.status)};
  return {.diagnostics = std::move(process.output)};
}

}  // namespace

HostCompiler find_host_compiler(const RuntimeOptions& options) {
  const std::string version = find_version(options.compiler, options.cache_dir);
  return {.path = options.compiler,
          .origin = options.compiler_origin,
          .version = version,
          .flags = compile_flags(version, KB_SANITIZE, options.kernel_level),
          .libraries = link_libraries(),
          .processor = describe_processor()};
}

std::vector<CompileResult> compile_shared_objects(const HostCompiler& compiler, std::span<const CompileJob> jobs) {
  require_compiler(compiler);
  std::deque<Process> running;
  std::vector<CompileResult> results;
  const auto collect = [&] {
    results.push_back(judge(jobs[results.size()], running.front().wait()));
    running.pop_front();
  };
  for (const CompileJob& job : jobs) start(running, arguments(compiler, job), collect);
  while (!running.empty()) collect();
  return results;
}

bool is_refused(const HostCompiler& compiler, const fs::path& source) {
  return run(with_flags(compiler, {"-fsyntax-only", source.string()})).status != 0;
}

std::string command_line(const HostCompiler& compiler, const CompileJob& job) {
  return fmt::format("{}", fmt::join(arguments(compiler, job), " "));
}

}  // namespace kb
