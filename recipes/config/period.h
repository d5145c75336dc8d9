// How often something is done in the course of a training: "1ep" every epoch, "200st" every 200 steps, "50ks" every
// 50,000 samples, "geo:1.1" after 1.1^k steps.
#pragma once
#include <cstdint>
#include <string>

namespace kb {

struct Period {
  enum class Unit : uint8_t { epochs, steps, kilosamples, geometric };

  double count = 0;  // of the unit; the ratio > 1 of a geometric one; 0: never
  Unit unit = Unit::epochs;

  // As a flag has it whose plain numbers are of `plain`: "1" where it is a whole number of those, else "1ep".
  std::string text(Unit plain) const;
  bool operator==(const Period&) const = default;
};

// Reads 0 and whole numbers, of the unit `plain`, and numbers with a unit. Throws UsageError for anything else.
Period parse_period(const std::string& flag, const std::string& text, Period::Unit plain);

}  // namespace kb
