#include "recipes/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "runtime/host_compiler.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("--out: cannot use the folder {}: {}", path.string(), why));
}

// True where the folder is new.
bool make_folder(const fs::path& path) {
  std::error_code error;
  bool fresh = fs::create_directories(path, error);
  if (error) refuse(path, error.message());
  return fresh;
}

fs::path default_folder(const std::string& recipe) {
  const std::tm now = fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  const fs::path base = fs::path("runs") / fmt::format("{}-{:%Y%m%d-%H%M%S}", recipe, now);
  fs::path path = base;
  for (int number = 2; !make_folder(path); ++number) path = fmt::format("{}-{}", base.string(), number);
  return path;
}

std::string command(const Recipe& recipe, const Flags& flags) {
  std::string text = "./run " + recipe.name;
  Flags absolute = flags;
  if (!flags.data.empty()) absolute.data = fs::absolute(flags.data).lexically_normal().string();
  for (const std::string& word : flag_words(recipe, absolute)) text += " " + shell_quoted(word);
  return text;
}

// A number or a truth value as JSON has it, anything else as text.
nlohmann::ordered_json flag_json(const std::string& value) {
  nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(value, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : nlohmann::ordered_json(value);
}

nlohmann::ordered_json versions() {
  nlohmann::ordered_json result;
  result["kilobatch"] = KB_VERSION;
  result["compiler"] = fmt::format("{} {}", __GNUC__ > 0 ? "g++" : "c++", __VERSION__);
  const HostCompiler host = find_host_compiler(RuntimeOptions::from_environment());
  result["kernel_compiler"] = host.version;
  result["kernel_flags"] = host.flags;
  result["processor"] = host.processor;
  result["fmt"] = fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  return result;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

RunFolder::RunFolder(const std::string& recipe, const std::string& out) {
  if (out.empty()) {
    path_ = default_folder(recipe);
    return;
  }
  path_ = out;
  make_folder(path_);
  if (fs::exists(file(kManifest)) || fs::exists(file("metrics.jsonl")))
    refuse(path_, "it holds a run already; name another, or remove it");
}

void RunFolder::save_parameters(const std::string& name, const StateStore& store, int64_t step) const {
  write_safetensors(file(name), store.canonical(false), {{"format", "pt"}, {"step", std::to_string(step)}});
}

std::string manifest_text(const ManifestFacts& facts) {
  nlohmann::ordered_json manifest;
  manifest["recipe"] = facts.recipe.name;
  manifest["paper"] = facts.recipe.paper;
  manifest["started"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  manifest["command"] = command(facts.recipe, facts.flags);
  for (const auto& [name, value] : flag_values(facts.recipe, facts.flags)) manifest["flags"][name] = flag_json(value);
  manifest["seed"] = facts.flags.seed;
  manifest["data"] = {{"name", facts.data.name},
                      {"fingerprint", facts.data.fingerprint},
                      {"train", facts.data.train.count()},
                      {"test", facts.data.test.count()}};
  manifest["steps"] = facts.plan.steps;
  manifest["steps_per_epoch"] = facts.plan.steps_per_epoch;
  manifest["schedule"] = facts.schedule;
  manifest["parameters"] = facts.parameters;
  manifest["graph_hash"] = {{"training", facts.training.graph_hash}, {"inference", facts.inference.graph_hash}};
  manifest["device"] = facts.device;
  manifest["versions"] = versions();
  return manifest.dump(2) + "\n";
}

}  // namespace kb
