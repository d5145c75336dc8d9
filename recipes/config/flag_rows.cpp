#include "recipes/config/flag_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace kb {
namespace {

constexpr const char* kSeedExpected = "a whole number in [0, 2^32)";
constexpr int64_t kSeedsBelow = int64_t{1} << 32;

FlagRow whole_row(FlagText text, Member<int64_t> member, std::string expected, int64_t least, int64_t below) {
  std::string name = text.name;
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) {
            member.in(config) = parse_whole(name, value, expected, least, below);
          },
          [=](const RunConfig& config) { return fmt::format("{}", member.in(config)); }};
}

FlagRow real_row(FlagText text, Member<double> member, std::string expected, double below) {
  std::string name = text.name;
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) {
            member.in(config) = parse_real(name, value, expected, below);
          },
          [=](const RunConfig& config) { return fmt::format("{}", member.in(config)); }};
}

FlagRow positive_row(FlagText text, Member<double> member, const std::string& expected, double below) {
  FlagRow row = real_row(text, member, expected, below);
  row.read = [=, read = row.read](RunConfig& config, const std::string& value) {
    read(config, value);
    if (member.in(config) == 0) refuse_value(text.name, expected, value);
  };
  return row;
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

FlagRow FlagRow::of_images() && {
  is_of_images = true;
  return std::move(*this);
}

FlagRow FlagRow::of_sequences() && {
  is_of_sequences = true;
  return std::move(*this);
}

FlagRow FlagRow::common() && {
  is_common = true;
  return std::move(*this);
}

FlagRow FlagRow::under(std::string title) && {
  heading = std::move(title);
  return std::move(*this);
}

FlagRow FlagRow::needs(std::string expected, std::string flag, std::function<bool(const RunConfig&)> is_met) && {
  need = {std::move(expected), std::move(flag), std::move(is_met)};
  return std::move(*this);
}

void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config) {
  for (const FlagRow& row : table)
    if (const auto at = given.find(row.text.name); at != given.end()) row.read(config, at->second);
}

FlagRow whole(FlagText text, Member<int64_t> member, bool may_be_zero) {
  const int64_t least = may_be_zero ? 0 : 1;
  return whole_row(std::move(text), member, whole_expectation(least), least, kWholeBelow);
}

FlagRow seed_row(FlagText text, Member<int64_t> member) {
  return whole_row(std::move(text), member, kSeedExpected, 0, kSeedsBelow);
}

FlagRow seed_row(FlagText text, Member<std::optional<int64_t>> member) {
  return {text,
          [=](RunConfig& config, const std::string& value) {
            member.in(config) = parse_whole(text.name, value, kSeedExpected, 0, kSeedsBelow);
          },
          [=](const RunConfig& config) { return member.in(config) ? fmt::to_string(*member.in(config)) : ""; }};
}

FlagRow real(FlagText text, Member<double> member) {
  return real_row(std::move(text), member, "a number >= 0", std::numeric_limits<double>::infinity());
}

FlagRow positive(FlagText text, Member<double> member) {
  return positive_row(std::move(text), member, "a number > 0", std::numeric_limits<double>::infinity());
}

FlagRow optional_real(FlagText text, Member<std::optional<double>> member) {
  std::string name = text.name;
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) {
            member.in(config) = parse_real(name, value, "a number >= 0", std::numeric_limits<double>::infinity());
          },
          [=](const RunConfig& config) { return member.in(config) ? fmt::format("{}", *member.in(config)) : ""; }};
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
  std::string name = text.name;
  text.doc = with_words(std::move(text.doc), choices);
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) {
            check_choice(name, value, choices);
            member.in(config) = value;
          },
          [=](const RunConfig& config) { return member.in(config); }};
}

FlagRow path(FlagText text, Member<std::string> member, const char* what) {
  std::string name = text.name;
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) {
            if (value.empty()) refuse_value(name, what, value);
            member.in(config) = value;
          },
          [=](const RunConfig& config) { return member.in(config); }};
}

FlagRow period(FlagText text, Member<Period> member, Period::Unit plain) {
  std::string name = text.name;
  return {std::move(text),
          [=](RunConfig& config, const std::string& value) { member.in(config) = parse_period(name, value, plain); },
          [=](const RunConfig& config) { return member.in(config).text(plain); }};
}

FlagRow toggle(FlagText text, Member<bool> member) {
  return {std::move(text), [=](RunConfig& config, const std::string&) { member.in(config) = true; },
          [=](const RunConfig& config) { return member.in(config) ? "true" : "false"; }};
}

}  // namespace kb
