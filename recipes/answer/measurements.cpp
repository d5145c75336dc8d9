#include "recipes/answer/measurements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "data/error.h"
#include "graph/parsed_number.h"
#include "recipes/answer/csv.h"
#include "recipes/task/suggest.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

constexpr const char* kLengths[] = {"steps", "samples", "epochs"};
const std::vector<std::string> kOtherColumns = {"minibatch", "rate",    "setting", "seed",    "reached",   "eval_every",
                                                "diverged",  "seconds", "policy",  "clock_s", "sent_bytes"};
constexpr double kWholeAsDouble = 9007199254740992;  // 2^53: a double holds all whole numbers up to it

std::string without_spaces(const std::string& text) {
  constexpr const char* kSpaces = " \t";
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// The places of the table's columns.
class ColumnPlaces {
 public:
  ColumnPlaces(const CsvRecord& header, const std::string& file) : file_(file), line_(header.line) {
    for (size_t i = 0; i < header.fields.size(); ++i)
      if (!places_.emplace(without_spaces(header.fields[i]), i).second)
        refuse("a column stands there twice", "names that differ", header.fields[i], "");
    require("minibatch", {"minibatch"});
    const auto found = std::find_if(std::begin(kLengths), std::end(kLengths), [&](auto name) { return has(name); });
    if (found == std::end(kLengths)) require("steps, samples or epochs", {"steps", "samples", "epochs"});
    length_ = *found;
  }

  bool has(const std::string& name) const { return places_.contains(name); }
  size_t place(const std::string& name) const { return places_.at(name); }
  size_t count() const { return places_.size(); }
  const std::string& length() const { return length_; }  // "steps", "samples" or "epochs"
  std::vector<std::string> ignored() const {
    std::vector<std::pair<size_t, std::string>> in_order;
    for (const auto& [name, place] : places_)
      if (!name.empty() && name != length_ &&
          std::find(kOtherColumns.begin(), kOtherColumns.end(), name) == kOtherColumns.end())
        in_order.emplace_back(place, name);
    std::sort(in_order.begin(), in_order.end());
    std::vector<std::string> names;
    for (const auto& [place, name] : in_order) names.push_back(name);
    return names;
  }

  [[noreturn]] void refuse(const std::string& problem, const std::string& expected, const std::string& got,
                           const std::string& hint) const {
    throw DataError({fmt::format("{}:{}", file_, line_), problem, expected, got, hint});
  }

 private:
  void require(const std::string& expected, const std::vector<std::string>& names) const {
    if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return has(name); })) return;
    std::vector<std::string> known;
    for (const auto& [name, place] : places_) known.push_back(name);
    std::string guess;
    for (const std::string& name : names)
      if (guess.empty()) guess = nearest(name, known);
    const std::string all = fmt::format("{}", fmt::join(known, ", "));
    refuse("a column is missing", expected, all,
           all.find_first_of(";\t") != std::string::npos ? "columns are parted by commas"
           : guess.empty()                               ? "the first line names the columns"
                                                         : fmt::format("rename '{}'", guess));
  }

  const std::string& file_;
  const size_t line_;
  std::map<std::string, size_t> places_;
  std::string length_;
};

// A line of the table, whose cells are read by the names of their columns.
class MeasurementRow {
 public:
  MeasurementRow(const ColumnPlaces& columns, const CsvRecord& record, const std::string& file)
      : columns_(columns), record_(record), file_(file) {
    if (record.fields.size() != columns.count())
      refuse("fields differ from the columns", fmt::format("{} fields", columns.count()),
             fmt::format("{} fields", record.fields.size()), "");
  }

  // Returns nothing for an empty cell and for a column that is not there.
  std::optional<double> positive(const std::string& column) const {
    const std::string words = text(column);
    if (words.empty()) return std::nullopt;
    constexpr const char* kExpected = "a number in [1e-15, 1e15]";
    const double value = number(column, words, kExpected);
    if (!(value >= 1e-15 && value <= 1e15)) refuse(column, kExpected, words, "");
    return value;
  }

  std::optional<int64_t> whole(const std::string& column, int64_t least) const {
    const std::string words = text(column), expected = fmt::format("a whole number from {} on", least);
    if (words.empty()) return std::nullopt;
    const double value = number(column, words, expected);
    if (value != std::floor(value) || value < static_cast<double>(least) || value > kWholeAsDouble)
      refuse(column, expected, words, "");
    return static_cast<int64_t>(value);
  }

  std::optional<bool> truth(const std::string& column) const {
    const std::string words = text(column);
    if (words.empty()) return std::nullopt;
    for (const char* word : {"1", "true", "True", "TRUE", "1.0"})
      if (words == word) return true;
    for (const char* word : {"0", "false", "False", "FALSE", "0.0"})
      if (words == word) return false;
    refuse(column, "1 or 0", words, "");
  }

  std::string text(const std::string& column) const {
    return columns_.has(column) ? without_spaces(record_.fields[columns_.place(column)]) : "";
  }

  [[noreturn]] void refuse(const std::string& problem, const std::string& expected, const std::string& got,
                           const std::string& hint) const {
    throw DataError({fmt::format("{}:{}", file_, record_.line), problem, expected, "'" + got + "'", hint});
  }

 private:
  double number(const std::string& column, const std::string& text, const std::string& expected) const {
    const std::optional<double> value = parsed_number<double>(text);
    if (!value || !std::isfinite(*value))
      refuse(column, expected, text, "a point parts whole and fraction; an empty cell says that a value is not known");
    return *value;
  }

  const ColumnPlaces& columns_;
  const CsvRecord& record_;
  const std::string& file_;
};

// Turns lengths in a table's unit, "steps", "samples" or "epochs", into steps.
struct StepsOf {
  const std::string& unit;
  std::optional<double> samples_per_epoch;

  std::optional<double> operator()(std::optional<double> length, int64_t minibatch) const {
    if (!length || unit == "steps") return length;
    return *length * (unit == "epochs" ? *samples_per_epoch : 1) / static_cast<double>(minibatch);
  }
};

Measurement measurement_in(const MeasurementRow& row, const StepsOf& steps_of) {
  const std::optional<int64_t> minibatch = row.whole("minibatch", 1);
  if (!minibatch) row.refuse("minibatch", "a whole number from 1 on", "", "");
  const std::optional<double> taken = steps_of(row.positive(steps_of.unit), *minibatch);
  Measurement run;
  run.minibatch = *minibatch;
  run.rate = row.positive("rate");
  run.setting = row.text("setting");
  run.seed = row.whole("seed", 0);
  run.eval_every = steps_of(row.positive("eval_every"), *minibatch);
  run.seconds = row.positive("seconds");
  run.clock_s = row.positive("clock_s");
  run.sent_bytes = row.positive("sent_bytes");
  if (const std::string unknown = set_policy_words(run.policy, row.text("policy")); !unknown.empty())
    row.refuse("policy", "words such as policy=local replicas=4 every=8", unknown, "flags without dashes");
  set_policy_words(run.policy, run.setting);
  run.diverged = row.truth("diverged").value_or(false);
  const bool reached = row.truth("reached").value_or(taken.has_value() && !run.diverged);
  if (reached && !taken) row.refuse("reached", steps_of.unit + " of a run that reached the target", "", "");
  if (reached && run.diverged) row.refuse("diverged", "0 of a run that reached the target", "1", "");
  if (reached && run.eval_every.value_or(0) > *taken)
    row.refuse("eval_every", "at most the " + steps_of.unit + " of the run", row.text("eval_every"), "");
  if (reached) run.steps = taken;
  if (taken) run.samples = *taken * static_cast<double>(*minibatch);
  return run;
}

}  // namespace

Measurements parse_measurement_table(std::string_view text, const std::string& file,
                                     std::optional<double> samples_per_epoch) {
  const std::vector<CsvRecord> records = parse_csv(text, file);
  if (records.size() < 2)
    throw DataError({file, "no measurements", "a line that names the columns, and a line a training",
                     records.empty() ? "an empty file" : "one line", "minibatch,rate,seed,steps"});
  const ColumnPlaces columns(records[0], file);
  if (columns.length() == "epochs" && !samples_per_epoch)
    columns.refuse("a length in epochs alone", "the samples of an epoch", "none", "--samples-per-epoch N");
  Measurements result{{}, columns.ignored()};
  std::map<std::tuple<int64_t, std::optional<double>, std::string, int64_t>, size_t> lines;
  for (size_t i = 1; i < records.size(); ++i) {
    const MeasurementRow row(columns, records[i], file);
    result.runs.push_back(measurement_in(row, {columns.length(), samples_per_epoch}));
    const Measurement& run = result.runs.back();
    if (!run.seed) continue;
    const auto [at, is_new] =
        lines.emplace(std::tuple(run.minibatch, run.rate, run.setting, *run.seed), records[i].line);
    if (!is_new)
      row.refuse("a run stands there twice", "minibatch, rate and seed of its own",
                 fmt::format("those of line {}", at->second),
                 "without the column seed, lines may be equal in what is read of them");
  }
  return result;
}

Measurements read_measurement_table(const std::filesystem::path& file, std::optional<double> samples_per_epoch) {
  return parse_measurement_table(read_file(file), file.string(), samples_per_epoch);
}

std::string measurement_table(std::span<const Measurement> runs) {
  const bool has_policies = std::any_of(runs.begin(), runs.end(), [](const Measurement& run) {
    return run.policy.sync.policy != Policy::sync || run.clock_s || run.sent_bytes;
  });
  const bool has_eval_every = std::ranges::any_of(runs, [](const Measurement& run) { return !!run.eval_every; });
  std::string text = fmt::format("minibatch,rate,setting,seed,steps,reached,diverged,seconds{}{}\n",
                                 has_eval_every ? ",eval_every" : "", has_policies ? ",policy,clock_s,sent_bytes" : "");
  for (const Measurement& run : runs) {
    const auto minibatch = static_cast<double>(run.minibatch);
    const std::optional<double> steps = run.steps || !run.samples ? run.steps : std::optional(*run.samples / minibatch);
    std::vector<CsvField> fields = {run.minibatch,         run.rate,     run.setting, run.seed, steps,
                                    run.steps.has_value(), run.diverged, run.seconds};
    if (has_eval_every) fields.emplace_back(run.eval_every);
    if (has_policies) fields.insert(fields.end(), {policy_words(run.policy), run.clock_s, run.sent_bytes});
    text += csv_line(fields);
  }
  return text;
}

}  // namespace kb
