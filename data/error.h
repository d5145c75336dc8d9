// The error of the data room: what is wrong with a file, a directory or a request for data, told so that its reader
// can repair it. (The graph's kb::Error speaks of DSL source lines and is not visible from here.)
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace kb {

/// One complaint. `subject` is the path (or the name) at fault; empty lines are left out of the message.
struct DataFault {
  std::string subject, problem, expected, got, hint;
};

class DataError : public std::runtime_error {
 public:
  explicit DataError(const DataFault& fault) : std::runtime_error(text(fault)) {}

 private:
  static std::string text(const DataFault& fault) {
    std::string out = fmt::format("{}: {}", fault.subject, fault.problem);
    if (!fault.expected.empty()) out += "\n  expected: " + fault.expected;
    if (!fault.got.empty()) out += "\n  got:      " + fault.got;
    if (!fault.hint.empty()) out += "\n  hint:     " + fault.hint;
    return out;
  }
};

}  // namespace kb
