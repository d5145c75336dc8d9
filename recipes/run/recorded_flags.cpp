#include "recipes/run/recorded_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "recipes/config/flag_rows.h"

namespace kb {

RunConfig recorded_config(const Recipe& recipe, const std::vector<std::string>& words) {
  const std::vector<FlagRow> table = flag_table(recipe);
  std::map<std::string, std::string> given;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto row = std::find_if(table.begin(), table.end(), [&](const FlagRow& r) { return r.text.name == word; });
    if (row == table.end() || row->effect == FlagEffect::call)
      throw UsageError(fmt::format("'{}' is none of the flags that say what is computed", word));
    const bool has_value = !row->text.value.empty();
    if (has_value && i + 1 == words.size()) throw UsageError(fmt::format("{} lacks its value", word));
    if (!given.emplace(word, has_value ? words[++i] : "").second)
      throw UsageError(fmt::format("{} is given twice", word));
  }
  // An earlier Kilobatch had --lr for both.
  const auto lr = given.find("--lr"), base = given.find("--base-minibatch");
  if (lr != given.end() && base != given.end() && base->second != "0" && !given.contains("--base-lr")) {
    given["--base-lr"] = lr->second;
    given.erase(lr);
  }
  RunConfig config = default_config(recipe);
  for (const FlagRow& row : table)  // in its order: an optimizer brings defaults of the flags behind it
    if (const auto at = given.find(row.text.name); at != given.end()) row.read(config, at->second);
  return config;
}

}  // namespace kb
