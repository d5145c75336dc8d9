// Tables of text, as RFC 4180 has them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct CsvRecord {
  size_t line = 0;  // on which it begins, from 1
  std::vector<std::string> fields;
};

// Fields are parted by commas; one in double quotes may hold commas, line ends, and a quote as two. Lines end with LF
// or CR LF. A byte order mark, empty lines and lines that begin with '#' are passed over. Throws DataError with `file`
// and the line where a quote stands inside a field without quotes, is not closed, or has text behind it.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file);

// A field as it is written: in quotes where it must be; nine digits of a number, and nothing where there is none.
std::string csv_field(const std::string& text);
std::string csv_field(const std::optional<double>& value);

}  // namespace kb
