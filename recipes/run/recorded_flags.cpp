#include "recipes/run/recorded_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/config/group_rows.h"
#include "recipes/config/preset.h"

namespace kb {

RunConfig recorded_config(const Recipe& recipe, const std::vector<std::string>& words) {
  const std::vector<FlagRow> table = flag_table(recipe);
  GivenFlags given;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto row = std::find_if(table.begin(), table.end(), [&](const FlagRow& r) { return r.text.name == word; });
    const bool is_of_group = is_group_flag(recipe, word);
    if (!is_of_group && (row == table.end() || row->effect == FlagEffect::call))
      throw UsageError(fmt::format("'{}' is none of the flags that say what is computed", word));
    const bool has_value = is_of_group || !row->text.value.empty();
    if (has_value && i + 1 == words.size()) throw UsageError(fmt::format("{} lacks its value", word));
    if (!given.emplace(word, has_value ? words[++i] : "").second)
      throw UsageError(fmt::format("{} is given twice", word));
  }
  // An earlier Kilobatch had --lr also for the rate of the base minibatch, which is --base-lr now.
  const auto lr = given.find("--lr"), base = given.find("--base-minibatch");
  if (lr != given.end() && base != given.end() && base->second != "0" && !given.contains("--base-lr")) {
    given["--base-lr"] = lr->second;
    given.erase(lr);
  }
  RunConfig config = preset_config(recipe, given);
  read_flags(table, given, config);
  read_group_flags(recipe, given, config);
  return config;
}

std::vector<std::string> recorded_words(const JsonValue& manifest) {
  if (manifest.has("arguments")) return manifest.at("arguments").list<std::string>();
  std::vector<std::string> words;
  for (const auto& [name, value] : manifest.at("flags").members()) {
    const std::string text = scalar_text(value);
    if (text.empty() || text == "false") continue;
    words.push_back("--" + name);
    if (text != "true") words.push_back(text);
  }
  return words;
}

}  // namespace kb
