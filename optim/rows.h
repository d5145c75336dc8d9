// Search in a table by the name of a row.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "graph/error.h"

namespace kb {

// Returns the row called `name`. Throws Error("WHAT: expected one of A, B, got 'NAME'") when there is none.
template <class Rows>
const auto& find_row(const Rows& rows, std::string_view what, const std::string& name) {
  std::string known;
  for (const auto& row : rows) {
    if (row.name == name) return row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw Error(fmt::format("{}: expected one of {}, got '{}'", what, known, name));
}

}  // namespace kb
