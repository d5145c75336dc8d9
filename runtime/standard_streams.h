// Standard input, output and error as a parent may leave them: closed, or on a disk that is full.
#pragma once
#include <string>
#include <string_view>

namespace kb {

// Opens those of the descriptors 0 to 2 that are closed on /dev/null. Every program calls it before it opens a file,
// which would get such a number and, with it, what is printed.
void open_standard_descriptors();

// A line on standard error. It throws nothing: a line that cannot be written is lost.
void print_error(std::string_view line) noexcept;

// Flushes standard output. Empty where all that was printed has left the process, else what kept it: `earlier` is the
// errno of a write that failed before, of which the stream remembers only that it did.
std::string standard_output_fault(int earlier = 0);

}  // namespace kb
