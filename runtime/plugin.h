// Parts of Kilobatch in libraries of their own, opened where they are asked for: whoever does not ask pays nothing.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

struct Plugin {
  const char* file;            // "libkilobatch_cuda.so"
  const char* what;            // "Kilobatch's GPU library"
  const char* version_symbol;  // a function that gives build_version()
  const char* refusal;         // what an error begins with: "no GPU can be used"
  const char* how;             // to get it

  // Throws Error: what is missing, what was found in its place, and a hint.
  [[noreturn]] void missing(const std::string& what_is, const std::string& got, const char* hint) const;
  // Beside the program, in the lib folder next to its own, and where the system's loader looks for the libraries of
  // this program: its run path (a program linked to an installed Kilobatch has that one's folder there),
  // $LD_LIBRARY_PATH, the system's folders.
  std::vector<std::filesystem::path> places() const;
  // The first that is there.
  std::filesystem::path find(const std::vector<std::filesystem::path>& places) const;
  // A function of the library, which stays open until the process ends.
  void* symbol(const std::filesystem::path& path, const char* name) const;
};

}  // namespace kb
