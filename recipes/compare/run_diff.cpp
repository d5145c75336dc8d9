#include "recipes/compare/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "recipes/run/run_folder.h"
#include "recipes/trials/run_reader.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoValue = "-";

// The values of a manifest with their keys ("data.name"), in its order.
using ManifestValues = std::vector<std::pair<std::string, std::string>>;

void flatten(const JsonValue& value, const std::string& key, ManifestValues& into) {
  if (value.kind() != JsonValue::Kind::object) return into.emplace_back(key, scalar_text(value)), void();
  for (const auto& [name, member] : value.members()) flatten(member, key.empty() ? name : key + "." + name, into);
}

const std::string* find_value(const ManifestValues& values, const std::string& key) {
  const auto at = std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == key; });
  return at == values.end() ? nullptr : &at->second;
}

struct RunFacts {
  fs::path folder;
  ManifestValues values;
  std::map<int64_t, std::string> losses;  // loss of every step, as the metrics file has it
  std::string state;                      // SHA-256 of the final state; empty if the run did not reach its end
};

RunFacts facts_of_run(const fs::path& folder) {
  const fs::path manifest = folder / kManifest;
  if (!is_there(manifest)) throw Error(fmt::format("{} holds no run: there is no {}", folder.string(), kManifest));
  RunFacts run{folder, {}, {}, ""};
  flatten(read_json(manifest), "", run.values);
  if (!is_there(folder / kMetrics)) return run;
  const std::string metrics = read_file(folder / kMetrics);
  for_each_flat_json(metrics, [&](const FlatJson& line) {
    if (line.text("kind") == "end") run.state = line.text("state_sha256");
    if (line.text("kind") != "step") return;
    const FlatJson::Field* loss = line.find("loss");
    const std::optional<int64_t> step = step_in(line);
    if (loss && step) run.losses[*step] = loss->source;
  });
  return run;
}

// A heading, and the prefixes of the keys that belong below it. A prefix without "." at its end is a whole key or an
// object.
struct DiffSection {
  const char* title;
  std::vector<std::string> prefixes;
};
const DiffSection kSections[] = {
    {"flags", {"flags."}},
    {"data", {"data."}},
    {"machine", {"host", "device", "picks"}},
    {"build", {"versions."}},
    {"graph", {"recipe", "graph_hash.", "parameters", "layers"}},
    {"plan and start", {"steps", "steps_per_epoch", "learning_rate", "init_sha256", "branch."}},
};
const DiffSection kResults = {"results", {"ended.", "result."}};

bool belongs_to(const std::string& key, const DiffSection& section) {
  return std::any_of(section.prefixes.begin(), section.prefixes.end(), [&](const std::string& prefix) {
    return prefix.ends_with('.') ? key.starts_with(prefix) : key == prefix || key.starts_with(prefix + ".");
  });
}

struct DiffRow {
  std::string key, a, b;
};

std::vector<DiffRow> diff_rows(const DiffSection& section, const RunFacts& a, const RunFacts& b, bool all) {
  std::vector<DiffRow> rows;
  const auto add = [&](const std::string& key) {
    const std::string *first = find_value(a.values, key), *second = find_value(b.values, key);
    if (all || !first || !second || *first != *second)
      rows.push_back({key, first ? *first : kNoValue, second ? *second : kNoValue});
  };
  for (const auto& [key, value] : a.values)
    if (belongs_to(key, section)) add(key);
  for (const auto& [key, value] : b.values)
    if (belongs_to(key, section) && !find_value(a.values, key)) add(key);
  return rows;
}

// Returns the rows below the section's title. If the section has one prefix, the keys are written without it.
std::string section_text(const DiffSection& section, const std::vector<DiffRow>& rows) {
  if (rows.empty()) return "";
  std::string text = fmt::format("{}\n", section.title);
  size_t key_width = 0, width = 0;
  const auto short_key = [&](const std::string& key) {
    const std::string& prefix = section.prefixes.front();
    return section.prefixes.size() == 1 && key.starts_with(prefix) ? key.substr(prefix.size()) : key;
  };
  for (const DiffRow& row : rows) {
    key_width = std::max(key_width, short_key(row.key).size());
    width = std::max(width, row.a.size());
  }
  for (const DiffRow& row : rows)
    text += fmt::format("  {:<{}}  {:<{}} | {}\n", short_key(row.key), key_width, row.a, std::min<size_t>(width, 40),
                        row.b);
  return text;
}

std::string losses_text(const RunFacts& a, const RunFacts& b) {
  int64_t common = 0;
  for (const auto& [step, loss] : a.losses) {
    const auto other = b.losses.find(step);
    if (other == b.losses.end()) continue;
    if (loss != other->second)
      return fmt::format("losses differ from step {} on: {} | {}\n", step, loss, other->second);
    ++common;
  }
  if (common == 0) return "losses: no step is in both runs\n";
  std::string text = fmt::format("losses: the same in every step that is in both runs: {} ({} | {})\n", common,
                                 a.losses.size(), b.losses.size());
  if (!a.state.empty() && !b.state.empty())
    text += a.state == b.state ? "final state: the same bits\n" : "final state: other bits\n";
  return text;
}

}  // namespace

std::string run_diff_text(const fs::path& a, const fs::path& b) {
  const RunFacts first = facts_of_run(a), second = facts_of_run(b);
  std::string text = fmt::format("{} | {}\n", a.string(), b.string()), differences;
  for (const DiffSection& section : kSections)
    differences += section_text(section, diff_rows(section, first, second, false));
  text += differences.empty() ? "flags, data, machine, build and graph: no difference\n" : differences;
  text += section_text(kResults, diff_rows(kResults, first, second, true));
  return text + losses_text(first, second);
}

}  // namespace kb
