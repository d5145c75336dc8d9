#include "recipes/answer/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/error.h"

namespace kb {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  std::vector<CsvRecord> records() {
    std::vector<CsvRecord> all;
    while (!rest_.empty()) {
      if (rest_.front() == '#')
        pass_over_line();
      else if (!take_line_end())
        all.push_back(record());
    }
    return all;
  }

 private:
  void pass_over_line() {
    rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    take_line_end();
  }

  bool take_line_end() {
    for (const std::string_view end : {"\r\n", "\n"})
      if (rest_.starts_with(end)) {
        rest_.remove_prefix(end.size());
        ++line_;
        return true;
      }
    return false;
  }

  CsvRecord record() {
    CsvRecord result{line_, {}};
    while (true) {
      result.fields.push_back(rest_.starts_with('"') ? quoted() : plain());
      if (rest_.empty() || take_line_end()) return result;
      rest_.remove_prefix(1);  // the comma
    }
  }

  std::string plain() {
    size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    if (end < rest_.size() && rest_[end] == '\n' && end > 0 && rest_[end - 1] == '\r') --end;
    const std::string field(rest_.substr(0, end));
    if (field.find('"') != std::string::npos)
      refuse(line_, "a quote inside a field that does not begin with one", field,
             "a field that holds quotes stands in quotes, each of its own twice: \"a \"\"b\"\"\"");
    rest_.remove_prefix(end);
    return field;
  }

  std::string quoted() {
    const size_t begin = line_;
    std::string field;
    rest_.remove_prefix(1);
    while (true) {
      if (rest_.empty())
        refuse(begin, "a quote is opened and not closed", field.substr(0, std::min<size_t>(field.find('\n'), 40)), "");
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"' && !rest_.starts_with('"')) break;
      if (c == '"') rest_.remove_prefix(1);
      if (c == '\n') ++line_;
      field += c;
    }
    if (!rest_.empty() && !rest_.starts_with(',') && !rest_.starts_with('\n') && !rest_.starts_with("\r\n"))
      refuse(line_, "text behind a closing quote", std::string(rest_.substr(0, rest_.find_first_of(",\r\n"))), "");
    return field;
  }

  [[noreturn]] void refuse(size_t line, const std::string& problem, const std::string& got,
                           const std::string& hint) const {
    throw DataError({file_ + ":" + std::to_string(line), problem, "a table as RFC 4180 has it", "'" + got + "'", hint});
  }

  std::string_view rest_;
  const std::string& file_;
  size_t line_ = 1;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file) {
  return CsvReader(text, file).records();
}

CsvField::CsvField(const std::string& words) : text(words) {
  const bool is_comment = words.starts_with('#');
  if (!is_comment && words.find_first_of(",\"\r\n") == std::string::npos) return;
  text = "\"";
  for (const char c : words) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  text += "\"";
}

CsvField::CsvField(double number) : text(fmt::format("{:.9g}", number)) {}

std::string csv_line(const std::vector<CsvField>& fields) {
  std::string line;
  for (const CsvField& field : fields) line += (&field == &fields.front() ? "" : ",") + field.text;
  return line + "\n";
}

}  // namespace kb
