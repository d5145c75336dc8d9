// Errors. `Error` is the user's fault: where it was written, scope path, what was expected and got, a hint.
// `InternalError` is ours: a broken invariant, with enough text to reproduce it. Nothing returns error codes upward.
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

// A fault that a check found, before its place is known; `Graph::add` turns it into an Error with place and scope.
struct Mistake {
  std::string what;  // one line: "inner dimensions differ"
  std::string expected;
  std::string got;
  std::string hint;
};

// Throws InternalError("MESSAGE") unless `holds`.
inline void ensure(bool holds, const char* message) {
  if (!holds) throw InternalError(message);
}

}  // namespace kb
