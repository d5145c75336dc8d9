#include "tests/support/says.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

namespace kb::test {

Says::Says(std::vector<std::string> parts) : parts_(std::move(parts)) {}

bool Says::operator()(const std::exception& error) const {
  const std::string text = error.what();
  BOOST_TEST_MESSAGE(text);
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const std::string& part) { return text.find(part) != text.npos; });
}

Says says(const std::string& part, const std::string& second, const std::string& third, const std::string& fourth,
          const std::string& fifth) {
  return Says({part, second, third, fourth, fifth});
}

}  // namespace kb::test
