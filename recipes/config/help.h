// The text of --help.
#pragma once
#include <string>
#include <vector>

namespace kb {

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

// Returns `title` and the rows as lines of at most 80 characters, unless a single word is longer; a line ends behind
// every ";" of a text.
std::string help_text(const std::string& title, const std::vector<HelpRow>& rows);

}  // namespace kb
