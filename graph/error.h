// The errors of all rooms. `Error` is a mistake of the user: its text says where, what was expected, what was got, and
// what helps. `InternalError` is a mistake of Kilobatch: an invariant that does not hold. No function returns an error
// code.
#pragma once
#include <stdexcept>
#include <string>

namespace kb {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A mistake that a check found without knowing the place; Graph::add makes an Error of it, with place and scope.
struct Mistake {
  std::string what;  // one line, as "inner dimensions differ"
  std::string expected;
  std::string got;
  std::string hint;
};

// Throws InternalError("MESSAGE") unless `holds`.
inline void ensure(bool holds, const char* message) {
  if (!holds) throw InternalError(message);
}

}  // namespace kb
