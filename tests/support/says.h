// says(part, ...) returns a predicate for BOOST_CHECK_EXCEPTION: whether an error's text holds all the parts. It is no
// template, so that a test compiles no function of its own for every length of a text. Every text holds an empty part.
#pragma once
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "graph/error.h"

namespace kb::test {

class Says {
 public:
  explicit Says(std::vector<std::string> parts);
  bool operator()(const std::exception& error) const;

 private:
  std::vector<std::string> parts_;
};

// Returns the text of the error of a kind that `work` throws; "(nothing thrown)" if it throws none of any kind.
template <class Kind = Error>
std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Kind& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

Says says(const std::string& part, const std::string& second = "", const std::string& third = "",
          const std::string& fourth = "", const std::string& fifth = "");

}  // namespace kb::test
