// The host's C++ compiler: the one that built Kilobatch, unless the user names another. It turns printed kernels into
// shared objects. No header is needed at run time, no shell is started, and a warm kernel cache needs no compiler.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/options.h"

namespace kb {

// All fields but `path` and `origin` are part of every kernel's key.
struct HostCompiler {
  std::string path;
  std::string origin;                  // who named it, for the error where it is gone
  std::string version;                 // first line of `--version`; empty: gone, and never seen by this cache
  std::vector<std::string> flags;      // before the source; the floating-point contract
  std::vector<std::string> libraries;  // after the source
  std::string processor;               // what -march=native stands for
};

struct CompileJob {
  std::filesystem::path source;
  std::filesystem::path object;  // the shared object to write
};

struct CompileResult {
  bool ok = false;
  std::string diagnostics;  // what the compiler wrote
};

// Asks the compiler for its version only when its file changed since `options.cache_dir` last heard of it; where it is
// gone, the remembered version lets a warm cache still be used.
HostCompiler find_host_compiler(const RuntimeOptions& options);

// Compiles all jobs at once, one process each, or as many at once as the system starts. kb::Error where the compiler
// cannot be started.
std::vector<CompileResult> compile_shared_objects(const HostCompiler& compiler, std::span<const CompileJob> jobs);

// Whether the compiler refuses the text itself, read without writing anything: where it does not, what failed was a
// write (a full TMPDIR, where it keeps what goes from pass to pass) or memory. Errors as above.
bool is_refused(const HostCompiler& compiler, const std::filesystem::path& source);

// The command that compiles `job`, for a person to repeat.
std::string command_line(const HostCompiler& compiler, const CompileJob& job);

}  // namespace kb
