// Lines of flat JSON objects, as metrics.jsonl holds them: {"kind":"step","step":12,"loss":null}. Quick, for files of
// millions of lines; whatever nests is for runtime/json_reader.h.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

namespace kb {

// Views of the text that it was read from.
class FlatJson {
 public:
  enum class Kind : uint8_t { number, text, boolean, null };
  struct Field {
    std::string_view key;
    std::string_view source;  // as it is written; of a text without its quotes
    Kind kind = Kind::null;
    double number = 0;
  };

  // False where the line is no object, or holds a value that is no number, truth value, null, or text without escapes.
  bool parse(std::string_view line);
  // The first of that key; null where there is none.
  const Field* find(std::string_view key) const;
  // Empty where there is no such text.
  std::string_view text(std::string_view key) const;
  // NaN where there is no such number, or null in its place: JSON has no numbers that are not finite.
  double number(std::string_view key) const;

 private:
  std::vector<Field> fields_;
};

// Calls `take` for every whole line that can be read, in order, and passes over the others; a last line without an end
// was torn.
void for_each_flat_json(std::string_view text, const std::function<void(const FlatJson&)>& take);

}  // namespace kb
