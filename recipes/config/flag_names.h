// Names in messages: a training names the member of its configuration that is at fault ("batch.per_worker"), a command
// line the flag that sets that member ("--per-worker").
#pragma once
#include <string>

namespace kb {

// Returns the text with the flag in place of every member's path that it names; "batch.per_worker = 8" becomes
// "--per-worker 8".
std::string with_flags(const std::string& text);
// Returns the text with the member's path in place of every flag that it names.
std::string with_members(const std::string& text);

}  // namespace kb
