// Makes an Error that a user reads of a mistake that a check found: it adds the user's line, the composite through
// which the call went, and the scope.
#pragma once
#include <source_location>
#include <string>
#include <string_view>

#include "graph/error.h"

namespace kb {

// Throws Error at the building thread's place (graph/scope.h). Throws InternalError instead when no DSL call is under
// way, or when an Origin lives: then the mistake is a compiler pass's. `makers` tells where the operands come from
// (Graph::makers).
[[noreturn]] void report(std::string_view op, const Mistake& mistake, const std::string& makers = "");

// Returns the shortest text that reads back as the same number.
std::string number_text(double value);

// Returns the file name without its folders.
std::string_view base_name(std::string_view path);

}  // namespace kb
