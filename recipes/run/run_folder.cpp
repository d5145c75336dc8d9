#include "recipes/run/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <string_view>

#include "recipes/run/command_words.h"
#include "recipes/run/tensorboard_events.h"
#include "recipes/train/init_weights.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/metrics_cut.h"
#include "runtime/atomic_file.h"
#include "runtime/commit.h"
#include "runtime/host_compiler.h"
#include "runtime/host_name.h"
#include "runtime/input_file.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"
#include "runtime/safetensors.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("--out: cannot use the folder {}: {}", path.string(), why));
}

// Makes the folder if it does not exist. Returns whether it is new.
bool take_folder(const fs::path& path) {
  std::error_code error;
  bool fresh = fs::create_directories(path, error);
  if (error) refuse(path, error.message());
  return fresh;
}

// Makes a folder in runs/. Another process may make one of the same name first.
fs::path default_folder(const std::string& recipe) {
  fs::path path = new_dated_folder(recipe);
  while (!take_folder(path)) path = new_dated_folder(recipe);
  return path;
}

// Removes temporary files whose names begin with `begin`.
void remove_temporaries(const fs::path& folder, std::string_view begin = "") {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".tmp" && entry.path().filename().string().starts_with(begin))
      fs::remove(entry.path(), error);
}

std::string now_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

Json versions(const std::string& library) {
  Json result;
  result["kilobatch"] = KB_VERSION;
  result["commit"] = source_commit();
  result["compiler"] = build_compiler();
  const HostCompiler host = find_host_compiler(RuntimeOptions::from_environment());
  result["kernel_compiler"] = host.version;
  result["kernel_flags"] = host.flags;
  result["processor"] = host.processor;
  result["library"] = library;
  result["fmt"] = fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  return result;
}

// Returns a copy of an object. Throws Error if the value is none: a manifest may come from anywhere.
Json object_copy(const JsonValue& value) {
  if (value.kind() != JsonValue::Kind::object) value.refuse("an object");
  return copy_of(value);
}

}  // namespace

fs::path new_dated_folder(const std::string& name) {
  const std::tm now = fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  const fs::path base = fs::path("runs") / fmt::format("{}-{:%Y%m%d-%H%M%S}", name, now);
  fs::path path = base;
  for (int number = 2; is_there(path); ++number) path = fmt::format("{}-{}", base.string(), number);
  return path;
}

bool is_own_file(const fs::path& run, const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(file, error), error);
  const auto same = [](const fs::path& a, const fs::path& b) {
    std::error_code ignored;
    return fs::equivalent(a, b, ignored);
  };
  const auto is = [&](const char* name) {
    return same(file, run / name) || (same(real.parent_path(), run) && real.filename() == name);
  };
  return is(kManifest) || is(kMetrics) || is(kCutMetrics) || is(kModel) || is(kLayerPicture) || is(kCurves) ||
         is(kMetricsTable) || is(kOrder) || (same(real.parent_path(), run) && is_event_file(real)) ||
         same(real.parent_path(), checkpoints_of(run));
}

RunFolder::RunFolder(fs::path path, Use use) : path_(std::move(path)) {
  if (use == Use::share) return;
  lock_ = std::make_shared<const FolderLock>(path_);
  if (!lock_->has_it()) throw Error(fmt::format("{} is in use: another process trains in it", path_.string()));
}

RunFolder RunFolder::open(const std::string& path, Use use) {
  std::error_code error;
  if (!fs::is_directory(path, error)) throw Error(fmt::format("--resume: there is no run folder {}", path));
  return RunFolder(fs::path(path).lexically_normal(), use);
}

void check_unused(const fs::path& out) {
  if (is_there(out / kManifest) || is_there(out / kMetrics))
    refuse(out,
           "it holds a run already\n  hint: --resume auto goes on with it; or name another folder, or remove this one");
}

RunFolder::RunFolder(const std::string& recipe, const std::string& out)
    : RunFolder(out.empty() ? default_folder(recipe) : (take_folder(out), fs::path(out))) {
  check_unused(path_);
  remove_temporaries(path_, kManifest);  // a run that was killed before it had a manifest left them
}

void RunFolder::save_parameters(const std::string& name, const StateStore& store, int64_t step) const {
  write_safetensors(file(name), store.views(false), {{"format", "pt"}, {"step", std::to_string(step)}});
}

void RunFolder::remove_leftovers() const {
  for (const fs::path& folder : {path_, checkpoints()}) remove_temporaries(folder);
}

namespace {

void add_command(Json& manifest, const ManifestFacts& facts) {
  const std::vector<std::string> words = flag_words(facts.recipe, facts.config);
  manifest["recipe"] = facts.recipe.name;
  manifest["paper"] = facts.recipe.paper;
  manifest["started"] = now_text();
  std::string command = start_words(facts.recipe);
  for (const std::string& word : words) command += " " + shell_quoted(word);
  manifest["command"] = command;
  manifest["arguments"] = words;
  for (const auto& [name, value, effect] : flag_values(facts.recipe, facts.config))
    if (effect != FlagEffect::call) manifest["flags"][name] = scalar_json(value);
  manifest["seed"] = facts.config.arithmetic.seed;
}

void add_data(Json& manifest, const ManifestFacts& facts) {
  const Task& task = facts.ready.task;
  manifest["data"] = {{"name", facts.data.name},
                      {"fingerprint", facts.data.fingerprint},
                      {"train", task.train_count},
                      {"test", task.test_count},
                      {"valid", task.valid ? task.valid->count() : task.valid_count},
                      {"class_names", facts.data.class_names},
                      {"mean", facts.data.mean},
                      {"stddev", facts.data.stddev},
                      {"resident", facts.ready.settled.residency.is_on()}};
  if (const ImageShape& s = facts.data.shape; s.size() > 0) {
    manifest["data"]["shape"] = Json::array({s.channels, s.height, s.width});
    manifest["data"]["in_files"] = facts.data.in_files;
  }
}

void add_metrics(Json& manifest, const std::vector<NamedMetric>& metrics) {
  if (!metrics.empty()) {
    const NamedMetric& goal = metrics.front();
    manifest["goal"] = {
        {"name", goal.name}, {"is_share", goal.kind.is_share}, {"higher_is_better", goal.kind.higher_is_better}};
  }
  for (const NamedMetric& metric : metrics)
    manifest["metrics"].push_back({{"name", metric.name},
                                   {"is_share", metric.kind.is_share},
                                   {"higher_is_better", metric.kind.higher_is_better}});
}

void add_buckets(Json& manifest, const std::vector<Bucket>& buckets) {
  for (const Bucket& bucket : buckets)
    if (bucket.length > 0)
      manifest["buckets"].push_back({{"length", bucket.length}, {"per_worker", bucket.per_worker}});
}

void add_plan(Json& manifest, const RunPlan& plan) {
  for (const MinibatchPhase& now : plan.grown) {
    Json phase = {{"begin_step", now.begin_step},
                  {"begin_epoch", now.begin_epoch},
                  {"minibatch", now.minibatch},
                  {"steps_per_epoch", now.steps_per_epoch}};
    if (now.rest_steps > 0) {
      phase["begin_sample"] = now.begin_sample;
      phase["rest_steps"] = now.rest_steps;
    }
    manifest["minibatch_phases"].push_back(phase);
  }
}

void add_memory(Json& manifest, const ManifestFacts& facts) {
  const Settled& settled = facts.ready.settled;
  const bool has_own_memory = settled.target.processor != Processor::cpu;
  manifest["memory"] = {{"programs", facts.ready.programs.bytes},
                        {"process", facts.process_bytes},
                        {"device", has_own_memory ? facts.ready.machine.backend.memory_bytes() : 0}};
  if (settled.fit)
    manifest["fit"] = {{"per_worker", settled.fit->per_worker},
                       {"bytes", settled.fit->bytes},
                       {"memory", settled.fit->memory},
                       {"recomputed", settled.fit->recomputed}};
}

Json manifest_of(const ManifestFacts& facts) {
  const auto& [task, settled, machine, programs] = facts.ready;
  const Compiled &training = programs.update().compiled(), &inference = programs.evaluate().compiled();
  Json manifest;
  add_command(manifest, facts);
  add_data(manifest, facts);
  manifest["steps"] = settled.plan.steps;
  manifest["steps_per_epoch"] = settled.plan.steps_per_epoch;
  add_metrics(manifest, programs.metrics.test);
  add_plan(manifest, settled.plan);
  add_buckets(manifest, settled.buckets);
  manifest["learning_rate"] = rate_derivation(rules_of(facts.recipe), settled.config.learning, settled.plan);
  manifest["parameters"] = programs.parameters;
  add_memory(manifest, facts);
  if (facts.config.judging.log_layers)
    for (const LoggedLayer& layer : logged_layers(training.space)) manifest["layers"].push_back(layer.name);
  manifest["graph_hash"] = {{"training", training.graph_hash}, {"inference", inference.graph_hash}};
  manifest["host"] = host_name();
  manifest["device"] = machine.backend.description();
  if (!facts.picks.empty()) manifest["picks"] = copy_of(parse_json(facts.picks, "picks"));
  manifest["versions"] = versions(machine.backend.library());
  return manifest;
}

Json figures_json(const Evaluation& evaluation) {
  Json figures;
  for (const Figure& figure : evaluation.figures) figures[figure.name] = figure.value;
  figures["loss"] = evaluation.loss;
  return figures;
}

Json best_json(const BestState& best, const std::string& judged_part) {
  Json json = {{"step", best.step}, {"chosen_on", judged_part}};
  json[judged_part] = figures_json(best.evaluation);
  if (best.test) json[kTestPart] = figures_json(*best.test);
  return json;
}

const char* ending_text(const LoopResult& result) {
  if (result.ending == Ending::diverged) return "diverged";
  if (result.ending == Ending::interrupted) return kInterruptedEnding;
  if (result.target) return kTargetEnding;
  return result.is_cut ? "--stop-at" : kFinishedEnding;
}

}  // namespace

std::string manifest_text(const ManifestFacts& facts) {
  Json manifest = manifest_of(facts);
  if (!facts.config.resume.init.empty())
    manifest["init_sha256"] = sha256_hex(read_file(init_file(facts.config.resume.init)));
  if (facts.branch)
    manifest["branch"] = {{"run", facts.branch->run.string()},
                          {"checkpoint", facts.branch->checkpoint.path.filename().string()},
                          {"step", facts.branch->checkpoint.step},
                          {"begins_at", steps_done(*facts.branch, facts.ready.settled.plan)},
                          {"state_sha256", facts.branch->checkpoint.fact("state_sha256")}};
  return manifest.dump(2) + "\n";
}

std::string resumed_manifest_text(const ManifestFacts& facts, const std::string& old, int64_t step,
                                  const std::function<void(const std::string&)>& note) {
  return continued_manifest(manifest_of(facts).dump(), old, step, note);
}

std::string ended_manifest_text(const std::string& manifest, const LoopResult& result, const Evaluation& evaluation,
                                const std::string& judged_part, const std::vector<std::string>& replaced,
                                int64_t peak_bytes) {
  Json json = copy_of(parse_json(manifest, kManifest));
  json["ended"] = {
      {"at", now_text()}, {"step", result.steps}, {"how", ending_text(result)}, {"peak_memory", peak_bytes}};
  json["result"] = figures_json(evaluation);
  json["result"]["part"] = result.part;
  json["result"]["diverged"] = result.is_diverged;
  if (result.target) {
    json["result"]["target_step"] = result.target->step;
    json["result"]["target_samples"] = result.target->samples;
    json["result"]["target_epochs"] = result.target->epochs;
  }
  if (result.best) json["result"]["best"] = best_json(*result.best, judged_part);
  if (!replaced.empty()) json["result"]["replaced_images"] = {{"count", replaced.size()}, {"names", replaced}};
  return json.dump(2) + "\n";
}

std::string continued_manifest(const std::string& own, const std::string& old, int64_t step,
                               const std::function<void(const std::string&)>& note) {
  const JsonValue before = parse_json(old, kManifest);
  const Json versions = object_copy(before.at("versions"));
  Json manifest = copy_of(parse_json(own, kManifest));
  Json entry = {{"at", now_text()}, {"step", step}};
  for (const auto& [key, value] : manifest["versions"].members()) {
    const Json* was = versions.find(key);
    if (was && *was == value) continue;
    entry["versions"][key] = value;
    note(fmt::format("{} was {}, is {}", key, was ? was->dump() : "unknown", value.dump()));
  }
  for (const char* key : {"started", "init_sha256"})
    if (before.has(key)) manifest[key] = before.get<std::string>(key);
  for (const char* key : {"branch", "fit"})
    if (before.has(key)) manifest[key] = object_copy(before.at(key));
  manifest["versions"] = versions;
  manifest["resumed"] = Json::array();
  if (before.has("resumed"))
    for (const JsonValue& earlier : before.at("resumed").items()) manifest["resumed"].push_back(object_copy(earlier));
  manifest["resumed"].push_back(entry);
  return manifest.dump(2) + "\n";
}

}  // namespace kb
