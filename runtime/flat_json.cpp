#include "runtime/flat_json.h"

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace kb {
namespace {

// Reads the fields of a line from front to back.
class FlatScanner {
 public:
  explicit FlatScanner(std::string_view line) : rest_(line) {}

  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> text() {
    if (!take('"')) return std::nullopt;
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"' && rest_[end] != '\\' &&
           static_cast<unsigned char>(rest_[end]) >= ' ')
      ++end;
    if (end == rest_.size() || rest_[end] != '"') return std::nullopt;
    return cut(end, end + 1);
  }

  bool value(FlatJson::Field& field) {
    skip_spaces();
    if (rest_.starts_with('"')) {
      const std::optional<std::string_view> found = text();
      field.kind = FlatJson::Kind::text;
      field.source = found.value_or("");
      return found.has_value();
    }
    for (const auto& [word, kind] : {std::pair<std::string_view, FlatJson::Kind>{"null", FlatJson::Kind::null},
                                     {"true", FlatJson::Kind::boolean},
                                     {"false", FlatJson::Kind::boolean}})
      if (rest_.starts_with(word)) {
        field.kind = kind;
        field.source = cut(word.size(), word.size());
        return true;
      }
    if (rest_.empty() || (rest_[0] != '-' && (rest_[0] < '0' || rest_[0] > '9'))) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), field.number);
    if (error != std::errc() || end[-1] == '.') return false;
    field.kind = FlatJson::Kind::number;
    const auto length = static_cast<size_t>(end - rest_.data());
    field.source = cut(length, length);
    return field.source.find_first_not_of("+-.0123456789eE") == std::string_view::npos;  // excludes inf and nan
  }

  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t') || rest_.starts_with('\r')) rest_.remove_prefix(1);
  }
  std::string_view cut(size_t length, size_t taken) {
    const std::string_view front = rest_.substr(0, length);
    rest_.remove_prefix(taken);
    return front;
  }

  std::string_view rest_;
};

}  // namespace

bool FlatJson::parse(std::string_view line) {
  fields_.clear();
  FlatScanner scanner(line);
  if (!scanner.take('{')) return false;
  do {
    const std::optional<std::string_view> key = scanner.text();
    if (!key || !scanner.take(':')) return false;
    Field& field = fields_.emplace_back();
    field.key = *key;
    if (!scanner.value(field)) return false;
  } while (scanner.take(','));
  return scanner.take('}') && scanner.at_end();
}

const FlatJson::Field* FlatJson::find(std::string_view key) const {
  for (const Field& field : fields_)
    if (field.key == key) return &field;
  return nullptr;
}

std::string_view FlatJson::text(std::string_view key) const {
  const Field* field = find(key);
  return field && field->kind == Kind::text ? field->source : "";
}

double FlatJson::number(std::string_view key) const {
  const Field* field = find(key);
  return field && field->kind == Kind::number ? field->number : std::numeric_limits<double>::quiet_NaN();
}

void for_each_flat_json(std::string_view text, const std::function<void(const FlatJson&)>& take) {
  FlatJson line;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1)
    if (line.parse(text.substr(begin, end - begin))) take(line);
}

}  // namespace kb
