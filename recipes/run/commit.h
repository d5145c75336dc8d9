// What a program was built from, and by.
#pragma once

namespace kb {

// Returns the first 12 digits of the commit, "+changes" behind them where files differed from it; "unknown" where the
// source is not the root of a git repository.
const char* source_commit();
// Returns the compiler and its version: "g++ 12.2.0".
const char* build_compiler();

}  // namespace kb
