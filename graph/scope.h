// State of the thread that builds a graph: the scope path, which prefixes names, and the chain of DSL calls, which each
// node keeps as its frames.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

class Graph;

// While it lives, the names of new parameters get its prefix: Scope a("layer1"); Scope b("0"); gives "layer1.0.".
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

// Every DSL function opens one with its caller's location. The nodes made while it lives keep the chain of open calls;
// the outermost is the user's line.
class Call {
 public:
  explicit Call(std::source_location where, std::source_location composite = std::source_location::current());
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// While it lives, nodes made in any graph take the scope and frame of a node of `graph`, whatever calls are open.
// Passes that build with the DSL open one; a mistake is an InternalError then.
class Origin {
 public:
  Origin(const Graph& graph, int32_t scope, int32_t frame);
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  const Graph* graph;
  int32_t scope, frame;  // indices into graph->scopes and graph->frames

 private:
  const Origin* outer_;
};
// Returns the innermost Origin of this thread; null when none lives.
const Origin* current_origin();

// The first returns the scope path, "layer1.0"; the second puts it before a name: scoped("conv1") = "layer1.0.conv1".
const std::string& scope_path();
std::string scoped(const std::string& name);
// Returns the locations of the open calls, the outermost first.
const std::vector<std::source_location>& call_stack();
// Returns the function that opened each of these calls, as the compiler writes it.
const std::vector<const char*>& called_functions();
// Returns a function's bare name: "linear" for "kb::Tensor kb::linear(const std::string&, ...)".
std::string_view function_name(std::string_view signature);

}  // namespace kb
