// Reads a number from text.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace kb {

// Returns the number that the whole text is, in base 10; nothing for any other text and for a number that the type does
// not hold. A floating-point number may be infinite or no number ("inf", "nan").
template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace kb
