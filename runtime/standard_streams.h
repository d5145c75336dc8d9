// Standard input, output and error, which a parent process may have closed, or put on a full disk.
#pragma once
#include <string>
#include <string_view>

namespace kb {

// Opens /dev/null on each of the descriptors 0 to 2 that is closed. Every program calls it before it opens a file: the
// file would get that number, and everything printed would go into it.
void open_standard_descriptors();

// Writes a line to standard error, in one piece, so that it does not mix with those of other threads and processes. It
// never throws: a line that cannot be written is lost.
void print_error(std::string_view line) noexcept;

// Flushes standard output. Returns "" when everything printed has left the process, else the reason. `earlier` is the
// errno of a write that failed before; the stream itself remembers only that one did.
std::string standard_output_fault(int earlier = 0);

}  // namespace kb
