// A training that a study asks for: a command line and the name of its run folder.
#pragma once
#include <string>
#include <vector>

namespace kb {

struct Trial {
  std::string name;                // name of its folder within the study; no two trials have the same
  std::vector<std::string> words;  // command line of the recipe, without --out, --resume and --quiet
  bool operator==(const Trial&) const = default;
};

// Sets the value of a flag; appends both to the words if the flag is not among them.
void set_word(std::vector<std::string>& words, const std::string& flag, const std::string& value);

}  // namespace kb
