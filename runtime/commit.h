// Names the source and the compiler of a program or a plug-in. The functions are hidden: a plug-in's are its own,
// whatever the program that opens it exports.
#pragma once

namespace kb {

// Returns the first 12 digits of the commit; where files differed from it, tests and *.md apart, "+" and 8 digits of a
// hash of the differences behind them; "unknown" where the source is not the root of a git repository.
[[gnu::visibility("hidden")]] const char* source_commit();
// Returns the compiler and its version: "g++ 12.2.0".
[[gnu::visibility("hidden")]] const char* build_compiler();
// Returns Kilobatch's version and the commit: "0.1.0, commit 0123456789ab".
[[gnu::visibility("hidden")]] const char* build_version();

}  // namespace kb
