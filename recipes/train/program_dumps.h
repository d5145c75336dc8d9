// The texts of programs that a run leaves in its folder (--dump).
#pragma once
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "recipes/config/dump.h"

namespace kb {

// A file of a dump (--dump): its name in the run folder, and its text.
struct DumpFile {
  std::string name = {};
  std::string text = {};
  std::string program = {};  // ProgramSpec::name, if is_pass
  bool is_pass = false;      // true for the graph before or after a pass
};

// Writes the texts that are asked for, of each program on its way through the compiler.
class Dumps {
 public:
  // Both must outlive this object.
  Dumps(const std::vector<Dump>& asked, std::vector<DumpFile>& files) : asked_(asked), files_(files) {}

  void graph(const std::string& name, const Graph& graph);
  // Sets the options so that the compiler gives the graph before and after each pass, if these are asked for.
  void hook(const std::string& name, CompileOptions& options);
  void compiled(const std::string& name, const Program& program, const Target& target);

 private:
  bool wants(Dump what) const;

  const std::vector<Dump>& asked_;
  std::vector<DumpFile>& files_;
};

}  // namespace kb
