#include "recipes/config/flag_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "recipes/config/suggest.h"

namespace kb {
namespace {

template <class Number>
Number parse(const std::string& flag, const std::string& text, const std::string& expected) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse_value(flag, expected, text);
  return value;
}

FlagRow whole_row(FlagText text, int64_t Flags::*member, std::string expected, int64_t least, int64_t below) {
  std::string name = text.name;
  return {
      std::move(text),
      [=](Flags& flags, const std::string& value) { flags.*member = parse_whole(name, value, expected, least, below); },
      [=](const Flags& flags) { return fmt::format("{}", flags.*member); }};
}

FlagRow real_row(FlagText text, double Flags::*member, std::string expected, double below) {
  std::string name = text.name;
  return {std::move(text),
          [=](Flags& flags, const std::string& value) { flags.*member = parse_real(name, value, expected, below); },
          [=](const Flags& flags) { return fmt::format("{}", flags.*member); }};
}

}  // namespace

FlagRow FlagRow::as(FlagEffect what) && {
  effect = what;
  return std::move(*this);
}

FlagRow FlagRow::of_a_process() && {
  differs = true;
  return std::move(*this);
}

FlagRow FlagRow::under(std::string title) && {
  heading = std::move(title);
  return std::move(*this);
}

FlagRow FlagRow::needs(std::string expected, std::string flag, std::function<bool(const Flags&)> is_met) && {
  need = {std::move(expected), std::move(flag), std::move(is_met)};
  return std::move(*this);
}

void refuse_value(const std::string& flag, const std::string& expected, const std::string& got,
                  const std::string& hint) {
  throw UsageError(fmt::format("{}: expected {}, got '{}'{}", flag, expected, got, hint));
}

std::string whole_expectation(int64_t least) { return fmt::format("a whole number in [{}, 2^31)", least); }

int64_t parse_whole(const std::string& flag, const std::string& text, const std::string& expected, int64_t least,
                    int64_t below) {
  const int64_t value = parse<int64_t>(flag, text, expected);
  if (value < least || value >= below) refuse_value(flag, expected, text);
  return value;
}

double parse_finite(const std::string& flag, const std::string& text, const std::string& expected) {
  const double value = parse<double>(flag, text, expected);
  if (!std::isfinite(value)) refuse_value(flag, expected, text);
  return value;
}

double parse_real(const std::string& flag, const std::string& text, const std::string& expected, double below) {
  const double value = parse_finite(flag, text, expected);
  if (value < 0 || value >= below) refuse_value(flag, expected, text);
  return value;
}

void check_choice(const std::string& flag, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::string guess = nearest(value, choices);
  refuse_value(flag, fmt::format("one of {}", fmt::join(choices, ", ")), value,
               guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess));
}

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

FlagRow whole(FlagText text, int64_t Flags::*member, bool may_be_zero) {
  const int64_t least = may_be_zero ? 0 : 1;
  return whole_row(std::move(text), member, whole_expectation(least), least, kWholeBelow);
}

FlagRow seed_row(FlagText text, int64_t Flags::*member) {
  return whole_row(std::move(text), member, "a whole number in [0, 2^32)", 0, int64_t{1} << 32);
}

FlagRow real(FlagText text, double Flags::*member) {
  return real_row(std::move(text), member, "a number >= 0", std::numeric_limits<double>::infinity());
}

FlagRow positive(FlagText text, double Flags::*member) {
  FlagRow row = real_row(text, member, "a number > 0", std::numeric_limits<double>::infinity());
  row.read = [=, read = row.read](Flags& flags, const std::string& value) {
    read(flags, value);
    if (flags.*member == 0) refuse_value(text.name, "a number > 0", value);
  };
  return row;
}

FlagRow optional_real(FlagText text, std::optional<double> Flags::*member) {
  std::string name = text.name;
  return {std::move(text),
          [=](Flags& flags, const std::string& value) {
            flags.*member = parse_real(name, value, "a number >= 0", std::numeric_limits<double>::infinity());
          },
          [=](const Flags& flags) { return flags.*member ? fmt::format("{}", *(flags.*member)) : ""; }};
}

FlagRow fraction(FlagText text, double Flags::*member) {
  return real_row(std::move(text), member, "a number in [0, 1)", 1);
}

FlagRow choice(FlagText text, std::string Flags::*member, const std::vector<std::string>& choices) {
  std::string name = text.name;
  text.doc += fmt::format("; one of {}", fmt::join(choices, ", "));
  return {std::move(text),
          [=](Flags& flags, const std::string& value) {
            check_choice(name, value, choices);
            flags.*member = value;
          },
          [=](const Flags& flags) { return flags.*member; }};
}

FlagRow path(FlagText text, std::string Flags::*member, const char* what) {
  std::string name = text.name;
  return {std::move(text),
          [=](Flags& flags, const std::string& value) {
            if (value.empty()) refuse_value(name, what, value);
            flags.*member = value;
          },
          [=](const Flags& flags) { return flags.*member; }};
}

FlagRow toggle(FlagText text, bool Flags::*member) {
  return {std::move(text), [=](Flags& flags, const std::string&) { flags.*member = true; },
          [=](const Flags& flags) { return flags.*member ? "true" : "false"; }};
}

}  // namespace kb
