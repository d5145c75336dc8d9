// Translation of names in messages. A training names the member of its configuration that is at fault
// ("batch.per_worker"), while a command line has to name the flag that sets the member ("--per-worker").
#pragma once
#include <string>

namespace kb {

// Returns the text with every path of a member replaced by its flag; "batch.per_worker = 8" becomes "--per-worker 8".
std::string with_flags(const std::string& text);
// Returns the text with every flag replaced by the path of its member.
std::string with_members(const std::string& text);

}  // namespace kb
