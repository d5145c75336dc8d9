#include "compiler/pipeline/check_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/passes/parameter_space.h"
#include "graph/interpreter.h"
#include "graph/text.h"

namespace kb {
namespace {

// Returns the flat vector of parameters, from parameters given by name; padding is zero.
Array flatten(const ParameterSpace& space, const Bindings& bindings) {
  Array flat{{space.dtype, {space.length}, ""}, std::vector<double>(static_cast<size_t>(space.length), 0.0)};
  for (const Segment& segment : space.segments) {
    auto at = bindings.find(segment.name);
    if (at == bindings.end()) continue;
    for_each_place(segment, [&](int64_t place, int64_t element) {
      flat.data[static_cast<size_t>(segment.offset + place)] = at->second.data[static_cast<size_t>(element)];
    });
  }
  return flat;
}

// Returns bindings of `after` with the values of `given`, which are bindings of the graph before the pass.
Bindings translate(const Graph& after, const Bindings& given, const ParameterSpace& space) {
  Bindings result = given;
  for (const Variable& variable : after.variables) {
    if (result.contains(variable.name)) continue;
    if (variable.kind == VariableKind::parameter && variable.flat)
      result[variable.name] = flatten(space, given);
    else
      result[variable.name] = initial_value(variable, 0);
  }
  Bindings missing = random_bindings(after, 1);
  for (auto& [name, array] : missing)
    if (result.contains(name)) result[name].type = array.type;  // precision may have changed the dtype
  result.merge(missing);
  return result;
}

void compare(const std::string& pass, const std::string& what, const Array& a, const Array& b, double tolerance,
             const Graph& before) {
  double scale = 1e-6;
  for (double x : a.data)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  for (size_t i = 0; i < a.data.size(); ++i) {
    bool same = a.data[i] == b.data[i] || (std::isnan(a.data[i]) && std::isnan(b.data[i]));
    if (same || std::abs(a.data[i] - b.data[i]) <= tolerance * scale) continue;
    throw InternalError(fmt::format("pass {} changed {}: element {} was {}, is {}\nreproducer:\n{}", pass, what, i,
                                    a.data[i], b.data[i], to_text(before)));
  }
}

}  // namespace

void check_pass(const std::string& pass, const Graph& before, const Graph& after, const CompileState& state) {
  Bindings given = random_bindings(before, 7);
  Bindings translated = translate(after, given, state.space);
  bool exact = pass == "simplify";  // equal bits, so with rounding; other passes may sum in another order
  Interpretation a = interpret(before, given, {exact});
  Interpretation b = interpret(after, translated, {exact});
  bool rounds = pass == "precision" && is_mixed(state.options.precision);
  double tolerance = exact ? 0 : rounds ? 0.1 : 1e-9;
  for (const auto& [name, value] : a.outputs) {
    auto at = b.outputs.find(name);
    if (at != b.outputs.end() && at->second.data.size() == value.data.size())
      compare(pass, "output " + name, value, at->second, tolerance, before);
  }
  for (const auto& [name, value] : a.writes) {
    auto at = b.writes.find(name);
    if (at != b.writes.end()) compare(pass, "state " + name, value, at->second, tolerance, before);
  }
}

}  // namespace kb
