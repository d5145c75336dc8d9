#include "graph/report.h"

#include <fmt/format.h>

#include "graph/scope.h"

namespace kb {
namespace {

// Returns "model.cpp:42 (in layer1.0.fc, called through linear)" for the building thread's present call.
std::string place_text() {
  const auto& calls = call_stack();
  std::string text = std::string(base_name(calls.front().file_name())) + ":" + std::to_string(calls.front().line());
  std::string inside = scope_path().empty() ? "" : "in " + scope_path();
  const auto& composites = called_functions();
  for (size_t i = 0; i + 1 < composites.size(); ++i) {
    inside += i > 0 ? " > " : inside.empty() ? "called through " : ", called through ";
    inside += function_name(composites[i]);
  }
  return inside.empty() ? text : text + " (" + inside + ")";
}

// Indents all lines but the first, so that they stand under the first line's text.
std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "            ";
  }
  return result;
}

}  // namespace

std::string number_text(double value) { return fmt::format("{}", value); }

std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

void report(std::string_view op, const Mistake& mistake, const std::string& makers) {
  std::string text = std::string(op) + ": " + mistake.what;
  const bool users = !call_stack().empty() && current_origin() == nullptr;
  if (users) text += "\n  at " + place_text();
  text += "\n  expected: " + indented(mistake.expected) + "\n  got:      " + indented(mistake.got);
  if (!makers.empty()) text += "\n  made by:  " + indented(makers);
  if (!mistake.hint.empty()) text += "\n  hint:     " + indented(mistake.hint);
  if (users) throw Error(text);
  throw InternalError(text);
}

}  // namespace kb
