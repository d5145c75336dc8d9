// The commit and the compiler of a program or a plug-in. The functions are hidden, so that a plug-in calls its own ones
// and not those of the program that opens it.
#pragma once

namespace kb {

// Returns the first 12 digits of the commit. If files other than tests and *.md differ from it, "+" and 8 digits of a
// hash of the differences follow. Returns "unknown" when the source is not the root of a git repository.
[[gnu::visibility("hidden")]] const char* source_commit();
// Returns the compiler and its version: "g++ 12.2.0".
[[gnu::visibility("hidden")]] const char* build_compiler();
// Returns Kilobatch's version and the commit: "0.1.0, commit 0123456789ab".
[[gnu::visibility("hidden")]] const char* build_version();

}  // namespace kb
