// says(parts...) returns a predicate for BOOST_CHECK_EXCEPTION: whether an error's text holds all the parts.
#pragma once
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <exception>
#include <string>
#include <vector>

namespace kb::test {

template <class... Part>
auto says(const Part&... parts) {
  return [parts = std::vector<std::string>{parts...}](const std::exception& error) {
    BOOST_TEST_MESSAGE(error.what());
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return std::string(error.what()).find(part) != std::string::npos;
    });
  };
}

}  // namespace kb::test
