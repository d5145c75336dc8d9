#include "recipes/sweep/trial_run.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/config/target_figure.h"
#include "recipes/config/values.h"
#include "recipes/trials/run_reader.h"

namespace kb {
namespace {

constexpr double kDigits = 1e-6;  // relative difference of two texts of one number

bool are_equal(double a, double b) { return std::abs(a - b) <= kDigits * std::abs(b); }

bool are_one_target(const std::string& a, const std::string& b) {
  try {
    const TargetFigure one = parse_target("--target", a), other = parse_target("--target", b);
    return one.metric == other.metric && are_equal(one.value, other.value);
  } catch (const UsageError&) {
    return a == b;
  }
}

template <class Value>
std::string expected_got(const char* what, const Value& expected, const Value& got) {
  return fmt::format("expected a run of {0} {1}, got one of {0} {2}", what, expected, got);
}

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.6g}", *rate) : "unknown"; }
std::string target_text(const std::string& target) { return target.empty() ? "none" : target; }

}  // namespace

TrialRun trial_run(const RunReport& report) { return {report.minibatch, report.seed, report.rate, report.target}; }

std::string difference_text(const TrialRun& expected, const TrialRun& got) {
  if (got.minibatch != expected.minibatch) return expected_got("minibatch", expected.minibatch, got.minibatch);
  if (got.seed != expected.seed) return expected_got("seed", expected.seed, got.seed);
  if (expected.target && got.target && !are_one_target(*got.target, *expected.target))
    return expected_got("--target", target_text(*expected.target), target_text(*got.target));
  if (expected.rate && !(got.rate && are_equal(*got.rate, *expected.rate)))
    return expected_got("--lr", rate_text(expected.rate), rate_text(got.rate));
  return "";
}

}  // namespace kb
