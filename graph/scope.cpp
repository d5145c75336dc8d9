#include "graph/scope.h"

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

}  // namespace kb
