// The lexer of a graph's text, which skips comments.
#pragma once
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "graph/error.h"

namespace kb::test {

struct GraphToken {
  enum class Kind : uint8_t { end, word, number, value, string, mark };
  Kind kind = Kind::end;
  std::string text;  // the content of a string; "12" or "12.1" for a value
  int line = 1;
};

class GraphLexer {
 public:
  explicit GraphLexer(std::string_view text) : text_(text) {}

  GraphToken next() {
    skip();
    GraphToken token;
    token.line = line_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') return string(token);
    if (c == '%') {
      ++at_;
      return span(token, GraphToken::Kind::value, [](char d) { return is_digit(d) || d == '.'; });
    }
    if (is_digit(c) || c == '-') return span(token, GraphToken::Kind::number, in_number);
    if (is_letter(c))
      return span(token, GraphToken::Kind::word, [](char d) { return is_letter(d) || is_digit(d) || d == '.'; });
    token.kind = GraphToken::Kind::mark;
    token.text = c;
    ++at_;
    return token;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool in_number(char c) { return is_digit(c) || is_letter(c) || c == '.' || c == '+' || c == '-'; }
  bool starts(std::string_view prefix) const { return text_.substr(at_, prefix.size()) == prefix; }

  void skip() {
    while (at_ < text_.size()) {
      if (starts("#")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (starts("/*")) {
        const size_t end = text_.find("*/", at_);
        const size_t next = end == text_.npos ? text_.size() : end + 2;
        line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + next, '\n'));
        at_ = next;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        if (text_[at_++] == '\n') ++line_;
      } else {
        return;
      }
    }
  }

  template <class F>
  GraphToken& span(GraphToken& token, GraphToken::Kind kind, F&& belongs) {
    const size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    token.kind = kind;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  GraphToken& string(GraphToken& token) {
    token.kind = GraphToken::Kind::string;
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char escaped = text_[++at_];
        token.text += escaped == 'n' ? '\n' : escaped;
      } else {
        token.text += text_[at_];
      }
    }
    if (at_ == text_.size() || text_[at_] != '"')
      throw Error(fmt::format("graph text, line {}: expected a closing \", got the end of the line", token.line));
    ++at_;
    return token;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace kb::test
