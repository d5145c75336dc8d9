#include "graph/scope.h"

#include <fmt/format.h>

#include "graph/report.h"

namespace kb {
namespace {

struct Place {
  std::string path;
  std::vector<size_t> lengths;  // length of `path` before each open Scope was added
  int reuses = 0;               // number of open Reuse objects
  std::vector<std::source_location> calls;
  std::vector<const char*> composites;  // signature of the function that opened each call
  const Origin* origin = nullptr;
};

Place& place() {
  thread_local Place here;
  return here;
}

// Returns "model.cpp:42 (in layer1.0.fc, called through linear)" for the building thread's present call.
std::string place_text() {
  const auto& calls = place().calls;
  std::string text = std::string(base_name(calls.front().file_name())) + ":" + std::to_string(calls.front().line());
  std::string inside = place().path.empty() ? "" : "in " + place().path;
  const auto& composites = place().composites;
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

std::string_view function_name(std::string_view signature) {
  size_t end = signature.find('(');
  while (end != std::string_view::npos && signature.substr(end).starts_with("(anonymous"))
    end = signature.find('(', end + 1);
  const std::string_view head = signature.substr(0, end);
  if (const size_t name = head.rfind("operator"); name != std::string_view::npos) return head.substr(name);
  const size_t cut = head.find_last_of(": *&");
  return cut == std::string_view::npos ? head : head.substr(cut + 1);
}

Scope::Scope(const std::string& name) {
  Place& here = place();
  here.lengths.push_back(here.path.size());
  if (!here.path.empty() && !name.empty()) here.path += '.';
  here.path += name;
}

Scope::~Scope() {
  Place& here = place();
  here.path.resize(here.lengths.back());
  here.lengths.pop_back();
}

Reuse::Reuse(const std::string& name) : scope_(name) { ++place().reuses; }
Reuse::~Reuse() { --place().reuses; }
bool reuses_variables() { return place().reuses > 0; }

Call::Call(std::source_location where, std::source_location composite) {
  place().calls.push_back(where);
  place().composites.push_back(composite.function_name());
}
Call::~Call() {
  place().calls.pop_back();
  place().composites.pop_back();
}

Origin::Origin(const Graph& graph, int32_t scope, int32_t frame)
    : graph(&graph), scope(scope), frame(frame), outer_(place().origin) {
  place().origin = this;
}
Origin::~Origin() { place().origin = outer_; }
const Origin* current_origin() { return place().origin; }

const std::string& scope_path() { return place().path; }
std::string scoped(const std::string& name) { return scope_path().empty() ? name : scope_path() + "." + name; }
const std::vector<std::source_location>& call_stack() { return place().calls; }
const std::vector<const char*>& called_functions() { return place().composites; }

std::string number_text(double value) { return fmt::format("{}", value); }

std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

void report(std::string_view op, const Mistake& mistake) {
  std::string text = std::string(op) + ": " + mistake.what;
  const bool users = !call_stack().empty() && current_origin() == nullptr;
  if (users) text += "\n  at " + place_text();
  text += "\n  expected: " + indented(mistake.expected) + "\n  got:      " + indented(mistake.got);
  if (!mistake.hint.empty()) text += "\n  hint:     " + indented(mistake.hint);
  if (users) throw Error(text);
  throw InternalError(text);
}

}  // namespace kb
