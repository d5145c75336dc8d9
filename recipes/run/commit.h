// The commit that a program was built from.
#pragma once

namespace kb {

// Returns the first 12 digits of the commit, "+changes" behind them where files differed from it; "unknown" where the
// source is not the root of a git repository.
const char* source_commit();

}  // namespace kb
