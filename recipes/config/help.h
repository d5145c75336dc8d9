// The layout of the text that --help prints.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

// The help that a command line asks for. common: --help alone, for the flags that most runs need. all: --help all, for
// every flag.
enum class HelpScope : uint8_t { none, common, all };

struct FlagText {
  std::string name;   // "--minibatch"
  std::string value;  // placeholder of its value, "N"; empty for a switch
  std::string doc;    // explanation for --help
};

struct HelpRow {
  std::string heading;  // heading above this and the following flags; empty: none begins here
  FlagText flag;
  std::string fallback = {};  // default, shown in brackets; empty: none is shown
};

// Returns the part of a text before its first ";", with the list "one of ..." from the end of the text if there is one.
std::string first_idea(const std::string& doc);

// Returns `title` and the rows in lines of at most 80 characters, unless a single word is longer; a line also ends
// after every ";" of a text. `is_dense` leaves out the empty lines between the groups.
std::string help_text(const std::string& title, const std::vector<HelpRow>& rows, bool is_dense = false);

}  // namespace kb
