// Reads and writes tables as comma-separated text (RFC 4180).
#pragma once
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct CsvRecord {
  size_t line = 0;  // number of the line on which it begins, from 1
  std::vector<std::string> fields;
};

// Returns the records of a table. Commas separate fields; a field in double quotes may hold commas, line ends, and a
// quote written as two. Lines end with LF or CR LF. A byte order mark, empty lines and lines that begin with '#' are
// skipped. Throws DataError with `file` and the line if a quote stands inside a field without quotes, is not closed, or
// has text after it.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file);

// A field as it is written: a text in quotes if it needs them, a real number with nine digits; one that is absent is
// empty, and a truth is 1 or 0.
struct CsvField {
  CsvField(const std::string& words);
  CsvField(const char* words) : CsvField(std::string(words)) {}
  CsvField(double number);
  template <std::integral Number>
  CsvField(Number number) : text(std::to_string(number)) {}
  template <class Value>
  CsvField(const std::optional<Value>& value) : text(value ? CsvField(*value).text : "") {}

  std::string text;
};

// Returns the line of a record, with its end.
std::string csv_line(const std::vector<CsvField>& fields);

}  // namespace kb
