// The C++ compiler of the host, which turns printed kernels into shared objects: the one that built Kilobatch, unless
// the user names another. At run time no header is needed, no shell is started, and a warm kernel cache needs no
// compiler.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/options.h"

namespace kb {

// All fields but `path` and `origin` enter the key of every kernel.
struct HostCompiler {
  std::string path;
  std::string origin;   // the setting that named it, for the error when it does not exist
  std::string version;  // first line of `--version`; empty: it does not exist, and this cache has never seen it
  std::vector<std::string> flags;      // options before the source, with the floating-point contract
  std::vector<std::string> libraries;  // options after the source
  std::string processor;               // description of the processor, which -march=native stands for
};

struct CompileJob {
  std::filesystem::path source;
  std::filesystem::path object;  // path of the shared object to write
};

struct CompileResult {
  bool ok = false;
  std::string diagnostics;  // output of the compiler
};

// Finds the compiler. It is asked for its version only if its file changed since `options.cache_dir` recorded it; if
// the file does not exist any more, the recorded version still allows a warm cache to be used.
HostCompiler find_host_compiler(const RuntimeOptions& options);

// Compiles all jobs at once, one process each, or as many at once as the system starts. They end with this process,
// however it ends. Throws kb::Error when the compiler cannot be started.
std::vector<CompileResult> compile_shared_objects(const HostCompiler& compiler, std::span<const CompileJob> jobs);

// Returns whether the compiler refuses the text itself; it writes nothing for this. If it accepts the text, the failure
// was one of memory or of a write (a full TMPDIR, where it keeps intermediate files). Throws as compile_shared_objects
// does.
bool is_refused(const HostCompiler& compiler, const std::filesystem::path& source);

// Returns the command that compiles `job`, so that a person can repeat it.
std::string command_line(const HostCompiler& compiler, const CompileJob& job);

}  // namespace kb
