#include "recipes/trials/trial.h"

#include <algorithm>

namespace kb {

void set_word(std::vector<std::string>& words, const std::string& flag, const std::string& value) {
  const auto at = std::find(words.begin(), words.end(), flag);
  if (at == words.end())
    words.insert(words.end(), {flag, value});
  else
    *std::next(at) = value;
}

}  // namespace kb
