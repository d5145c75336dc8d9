#include "recipes/config/flag_rows.h"

#include <cmath>
#include <limits>

namespace kb {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

template <class Whole>
FlagRow whole_row(FlagText text, Member<Whole> member, const std::string& expected, int64_t least, int64_t below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    return parse_whole(name, value, expected, least, below);
  });
}

template <class Real>
FlagRow real_row(FlagText text, Member<Real> member, const std::string& expected, double below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    return parse_real(name, value, expected, below);
  });
}

FlagRow positive_row(FlagText text, Member<double> member, const std::string& expected, double below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    const double number = parse_real(name, value, expected, below);
    if (number == 0) refuse_value(name, expected, value);
    return number;
  });
}

template <class Seed>
FlagRow seed_row_of(FlagText text, Member<Seed> member) {
  return whole_row(std::move(text), member, "a whole number in [0, 2^32)", 0, int64_t{1} << 32);
}

}  // namespace

void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config) {
  for (const FlagRow& row : table)
    if (const auto at = given.find(row.text.name); at != given.end()) row.read(config, at->second);
}

FlagRow whole(FlagText text, Member<int64_t> member, bool may_be_zero) {
  const int64_t least = may_be_zero ? 0 : 1;
  return whole_row(std::move(text), member, whole_expectation(least), least, kWholeBelow);
}

FlagRow seed_row(FlagText text, Member<int64_t> member) { return seed_row_of(std::move(text), member); }
FlagRow seed_row(FlagText text, Member<std::optional<int64_t>> member) { return seed_row_of(std::move(text), member); }

FlagRow real(FlagText text, Member<double> member) {
  return real_row(std::move(text), member, "a number >= 0", kUnbounded);
}

FlagRow optional_real(FlagText text, Member<std::optional<double>> member) {
  return real_row(std::move(text), member, "a number >= 0", kUnbounded);
}

FlagRow positive(FlagText text, Member<double> member) {
  return positive_row(std::move(text), member, "a number > 0", kUnbounded);
}

FlagRow fraction(FlagText text, Member<double> member) {
  return real_row(std::move(text), member, "a number in [0, 1)", 1);
}

FlagRow share(FlagText text, Member<double> member) {
  return positive_row(std::move(text), member, "a number in (0, 1]", std::nextafter(1.0, 2.0));
}

std::string with_words(std::string doc, const std::vector<std::string>& words) {
  return fmt::format("{}; one of {}", doc, fmt::join(words, ", "));
}

FlagRow choice(FlagText text, Member<std::string> member, const std::vector<std::string>& choices) {
  text.doc = with_words(std::move(text.doc), choices);
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    check_choice(name, value, choices);
    return value;
  });
}

FlagRow path(FlagText text, Member<std::string> member, const char* what) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    if (value.empty()) refuse_value(name, what, value);
    return value;
  });
}

FlagRow period(FlagText text, Member<Period> member, Period::Unit plain) {
  return row_of(
      std::move(text), member,
      [=](const std::string& name, const std::string& value) { return parse_period(name, value, plain); },
      [=](const Period& period) { return period.text(plain); });
}

FlagRow toggle(FlagText text, Member<bool> member) {
  return row_of(std::move(text), member, [](const std::string&, const std::string&) { return true; });
}

}  // namespace kb
