#include "recipes/models/run_model.h"

#include <fmt/format.h>

#include <set>

#include "recipes/models/export.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/run/resume.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

JsonValue manifest_of(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error)) throw Error(fmt::format("there is no run folder {}", run.string()));
  const fs::path path = run / kManifest;
  if (!is_there(path)) throw Error(fmt::format("{} holds no run: there is no {}", run.string(), kManifest));
  return read_json(path);
}

// Returns the recipe of the run. Throws Error if it is not known here, or not one for the command.
Recipe recipe_of(const JsonValue& manifest, const std::optional<Recipe>& own, const fs::path& run,
                 const ModelUse& use) {
  const auto name = manifest.get<std::string>("recipe");
  const bool is_own = own && own->name == name;
  if (!is_own && (own || !is_listed(name)))
    throw Error(fmt::format("{} is a run of {}\n  expected: a run of {}\n  hint:     {} {} {} {}", run.string(), name,
                            own ? own->name : "a recipe that ./run list names",
                            is_listed(name) ? "./run" : "the program that trained it has the command: PROGRAM",
                            use.tool, shell_quoted(run.string()), use.arguments));
  Recipe recipe = is_own ? *own : find_recipe(name);
  use.check(recipe, run);
  return recipe;
}

RunConfig config_of_run(const Recipe& recipe, const JsonValue& manifest, const fs::path& run) {
  try {
    return recorded_config(recipe, recorded_words(manifest));
  } catch (const UsageError& error) {
    throw Error(fmt::format("{}: flags in {} are not taken: {}", run.string(), kManifest, error.what()));
  }
}

Checkpoint chosen_checkpoint(const RunModelRequest& request, const std::function<void(const std::string&)>& say) {
  const fs::path folder = checkpoints_of(request.run);
  if (!request.checkpoint.empty()) return read_checkpoint(named_checkpoint(folder, request.checkpoint));
  if (is_there(folder / kBestCheckpoint)) {
    try {
      return read_checkpoint(folder / kBestCheckpoint);
    } catch (const Error& error) {
      say(fmt::format("passed over: {}", error.what()));
    }
  }
  return newest_whole_checkpoint(folder, say);
}

// Loads the weights. Throws Error if the store has a tensor that the checkpoint lacks, or the checkpoint one that is no
// variable of the model; it names one.
void load_weights(StateStore& store, const std::vector<Variable>& variables, const std::vector<NamedTensor>& tensors,
                  const fs::path& file) {
  std::set<std::string> missing;
  for (const TensorView& view : store.views(false)) missing.insert(view.name);
  for (const NamedTensor& tensor : tensors) missing.erase(tensor.name);
  std::vector<std::string> unknown;
  try {
    unknown = store.load(tensors);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: it is not of this model\n  {}", file.string(), error.what()));
  }
  for (const Variable& variable : variables) std::erase(unknown, variable.name);
  if (missing.empty() && unknown.empty()) return;
  throw Error(fmt::format("{}: it is not of this model\n  expected: {}\n  got:      {}", file.string(),
                          missing.empty() ? "nothing else" : *missing.begin(),
                          unknown.empty() ? "none of that name" : unknown.front()));
}

}  // namespace

void add_state_flags(CommandLine& line, RunModelRequest& request) {
  line.text(
          {"--checkpoint", "FILE", "one of RUN/checkpoints, or a path; the best state, else the newest that is whole"},
          request.checkpoint)
      .flag("--ema", request.averaged, "the averaged parameters of a run with --ema");
}

RunModel::RunModel(const RunModelRequest& asked, const std::optional<Recipe>& own, const ModelUse& use)
    : request(asked),
      manifest(manifest_of(asked.run)),
      recipe(recipe_of(manifest, own, asked.run, use)),
      config(config_of_run(recipe, manifest, asked.run)),
      backend(make_cpu_backend({.shards = static_cast<int>(config.arithmetic.shards), .cache_directory = ""})),
      store(*backend) {}

Compiled RunModel::compiled(const Graph& graph, const ParameterSpace* space) const {
  CompileOptions options;
  options.target = backend->target();
  options.precision = config.arithmetic.precision;
  options.space = space;
  return compile(graph, options);
}

void RunModel::load(const std::vector<Variable>& variables, const std::function<void(const std::string&)>& say) {
  const Checkpoint checkpoint = chosen_checkpoint(request, say);
  load_weights(store, variables, exported_tensors(checkpoint, request.averaged), checkpoint.path);
  description = fmt::format("{} after {} steps ({})", recipe.name, checkpoint.step, checkpoint.path.string());
}

}  // namespace kb
