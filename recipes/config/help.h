// The text of --help.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

// What a command line asks for: --help alone, the flags that most runs need; --help all, every flag.
enum class HelpScope : uint8_t { none, common, all };

struct FlagText {
  std::string name;   // "--minibatch"
  std::string value;  // what stands behind it, "N"; empty for a switch
  std::string doc;
};

struct HelpRow {
  std::string heading;  // above this flag and those behind it; empty: as the row before
  FlagText flag;
  std::string fallback = {};  // value without the flag, shown in brackets; empty: none is shown
};

// The first idea of a text, which ends at its first ";", and the words to choose from that it ends with.
std::string first_idea(const std::string& doc);

// Returns `title` and the rows as lines of at most 80 characters, unless a single word is longer; a line ends behind
// every ";" of a text. With `is_dense` no empty line stands between the groups.
std::string help_text(const std::string& title, const std::vector<HelpRow>& rows, bool is_dense = false);

}  // namespace kb
