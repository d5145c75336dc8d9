// Parses lines of flat JSON objects, as metrics.jsonl holds them: {"kind":"step","step":12,"loss":null}. It is fast,
// for files of millions of lines. Nested JSON is read by runtime/json_reader.h.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

namespace kb {

// The fields of one line. They refer to the text that was parsed, which must outlive them.
class FlatJson {
 public:
  enum class Kind : uint8_t { number, text, boolean, null };
  struct Field {
    std::string_view key;
    std::string_view source;  // the value as it is written; a text without its quotes
    Kind kind = Kind::null;
    double number = 0;
  };

  // Returns false when the line is no object, or a value is not a number, a truth value, null, or a text without
  // escapes.
  bool parse(std::string_view line);
  // Returns the first field with this key; null when there is none.
  const Field* find(std::string_view key) const;
  // Returns a text; empty when no text has this key.
  std::string_view text(std::string_view key) const;
  // Returns a number; NaN when no number has this key, or it is null, which stands for a number that is not finite.
  double number(std::string_view key) const;

 private:
  std::vector<Field> fields_;
};

// Calls `take` for every line that can be parsed, in order, and skips the others. A last line without a line end was
// written in part, and is skipped too.
void for_each_flat_json(std::string_view text, const std::function<void(const FlatJson&)>& take);

}  // namespace kb
