// State of the thread that builds a graph: the scope path that prefixes names, and the chain of DSL calls (frames) that
// nodes keep.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

class Graph;

// Prefixes the names of parameters made while it lives: Scope a("layer1"); Scope b("0"); -> "layer1.0.".
class Scope {
 public:
  explicit Scope(const std::string& name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

// Opens a scope again, so that a model function can call a sub-network twice. While it lives, parameters and states are
// those that were made under the scope's name before, and each random stream (dropout) is a new one, numbered by the
// call: "net.drop#2". A written state is read as written; its second write takes the place of the first. Throws Error,
// when a variable is asked for, where none of that name, type and role was made before.
class Reuse {
 public:
  explicit Reuse(const std::string& name);
  ~Reuse();
  Reuse(const Reuse&) = delete;
  Reuse& operator=(const Reuse&) = delete;

 private:
  Scope scope_;
};
// Whether a Reuse is open.
bool reuses_variables();

// Opened by every DSL function with its caller's location; nodes made while it lives keep the chain. The outermost is
// the user's line.
class Call {
 public:
  explicit Call(std::source_location where, std::source_location composite = std::source_location::current());
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// While it lives, nodes made in any graph take the scope and frame of a node of `graph`, whatever calls are under way:
// for passes that build with the DSL. Mistakes are internal errors then.
class Origin {
 public:
  Origin(const Graph& graph, int32_t scope, int32_t frame);
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  const Graph* graph;
  int32_t scope, frame;  // indices into `graph`

 private:
  const Origin* outer_;
};
// The innermost; null when there is none.
const Origin* current_origin();

// "layer1.0" of the building thread, and `name` under it: scoped("conv1") = "layer1.0.conv1".
const std::string& scope_path();
std::string scoped(const std::string& name);
// Outermost first.
const std::vector<std::source_location>& call_stack();
// The functions that these calls are of, as the compiler writes them.
const std::vector<const char*>& called_functions();
// "linear" of "kb::Tensor kb::linear(const std::string&, ...)".
std::string_view function_name(std::string_view signature);

}  // namespace kb
