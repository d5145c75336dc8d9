// The error of the data room. Its text says what is wrong with a file, a folder or a request for data, so that the
// reader can repair it. (The graph room's kb::Error tells of lines in the user's source; this room does not include
// it.)
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace kb {

/// The parts of a DataError's message. `subject` is the path or the name at fault; empty members are left out of the
/// text.
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
