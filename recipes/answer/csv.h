// Reads and writes tables as comma-separated text (RFC 4180).
#pragma once
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

// Returns a field as it is written: in quotes if it needs them. A number has nine digits; an absent one is an empty
// field.
std::string csv_field(const std::string& text);
std::string csv_field(const std::optional<double>& value);

}  // namespace kb
