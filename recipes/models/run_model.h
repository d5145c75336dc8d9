// The model of a run, found in its folder: recipe, configuration and weights.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "recipes/config/command_line.h"
#include "recipes/config/run_config.h"
#include "recipes/task/model.h"
#include "runtime/backend.h"
#include "runtime/checkpoint.h"
#include "runtime/json_reader.h"
#include "runtime/state_store.h"

namespace kb {

struct RunModelRequest {
  std::filesystem::path run;    // folder of the run, which may be in use
  std::string checkpoint = {};  // path, or file name in the run; "" = the best state, else the newest whole one
  bool averaged = false;        // whether to take the parameters that --ema averaged
};

// Adds the flags --checkpoint and --ema to a tool's.
void add_state_flags(CommandLine& line, RunModelRequest& request);

// A command that uses the model of a run.
struct ModelUse {
  const char* tool;       // name of the command, which error messages tell
  const char* arguments;  // arguments of the command after the run
  // Throws Error if the command cannot use runs of this recipe.
  void (*check)(const Recipe& recipe, const std::filesystem::path& run);
};

struct RunModel {
  // Reads the manifest. `own`: recipe of the program that was called; if empty, the run's recipe is one in the table.
  // Throws Error if there is no such run, and for a run of another recipe.
  RunModel(const RunModelRequest& request, const std::optional<Recipe>& own, const ModelUse& use);

  // Fills the store with the weights, and sets the description. Of the model's variables the store may lack those that
  // nothing of it reads. Calls `say` with a line for each damaged checkpoint that is passed over. Throws Error if the
  // run has no weights, or not those of the store and the model.
  void load(const std::vector<Variable>& variables, const std::function<void(const std::string&)>& say);

  // Compiles a graph of the model in the precision of the run. `space`: its parameters, if other programs share them.
  Compiled compiled(const Graph& graph, const ParameterSpace* space = nullptr) const;
  DType dtype() const { return graph_dtype(config.arithmetic.precision); }  // that of the graphs' float values

  RunModelRequest request;
  JsonValue manifest;
  Recipe recipe;
  RunConfig config;
  std::unique_ptr<Backend> backend;  // the CPU of this machine
  StateStore store;
  std::string description;  // "lenet_mnist after 938 steps (runs/a/checkpoints/best.safetensors)"
};

}  // namespace kb
