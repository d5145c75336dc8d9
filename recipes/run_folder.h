// The folder of one run, and the files in it: manifest.json, metrics.jsonl, model.safetensors, dumps.
#pragma once
#include <filesystem>
#include <string>

#include "recipes/flags.h"
#include "recipes/plan.h"
#include "recipes/programs.h"
#include "runtime/state_store.h"

namespace kb {

class RunFolder {
 public:
  // Makes `out`, or runs/RECIPE-TIME where it is empty (with a number behind it where another run took that name).
  // Throws Error where `out` holds a run already.
  RunFolder(const std::string& recipe, const std::string& out);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

  // Parameters and running statistics under PyTorch's names, whole or not at all.
  void save_parameters(const std::string& name, const StateStore& store, int64_t step) const;

 private:
  std::filesystem::path path_;
};

struct ManifestFacts {
  const Recipe& recipe;
  const Flags& flags;
  const RunPlan& plan;
  const Compiled &training, &inference;
  int64_t parameters = 0;  // elements
  const Dataset& data;
  std::string schedule;  // in words
  std::string device;
};

// Every flag, seed, graph hash, version, and the command that repeats the run.
std::string manifest_text(const ManifestFacts& facts);

// A word as a shell takes it.
std::string shell_quoted(const std::string& word);

}  // namespace kb
