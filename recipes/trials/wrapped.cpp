#include "recipes/trials/wrapped.h"

#include <sstream>

namespace kb {

std::string wrapped(const std::string& label, const std::string& words) {
  constexpr size_t kColumns = 79;
  std::string text, line = label;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (line.size() + word.size() > kColumns) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(label.size(), ' ');
    }
    line += word + " ";
  }
  return text + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace kb
