// From a mistake found by a check to the error a user reads: the user's own line, the composite it came through, the
// scope, what was expected and got.
#pragma once
#include <source_location>
#include <string>
#include <string_view>

#include "graph/error.h"

namespace kb {

// Throws Error at the building thread's place (graph/scope.h); InternalError when no DSL call is under way or
// an Origin lives, for then a pass of ours made the mistake.
[[noreturn]] void report(std::string_view op, const Mistake& mistake);

// The shortest text that reads back as the number.
std::string number_text(double value);

// The file name without its folders.
std::string_view base_name(std::string_view path);

}  // namespace kb
