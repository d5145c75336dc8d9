// Plug-ins: parts of Kilobatch in libraries of their own, which are opened when they are needed.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

struct Plugin {
  const char* file;            // file name, as "libkilobatch_cuda.so"
  const char* what;            // name for people, as "Kilobatch's GPU library"
  const char* version_symbol;  // function of the library that returns build_version()
  const char* refusal;         // begin of an error, as "no GPU can be used"
  const char* how;             // how to get the library

  // Throws Error: what is missing, what was found in its place, and a hint.
  [[noreturn]] void missing(const std::string& what_is, const std::string& got, const char* hint) const;
  // Returns the places to search: the folder of the program, the lib folder next to that, and the folders in which the
  // system's loader looks for this program's libraries: its run path (which has the folder of an installed Kilobatch
  // that it was linked to), $LD_LIBRARY_PATH, and the system's.
  std::vector<std::filesystem::path> places() const;
  // Returns the first place that has the file.
  std::filesystem::path find(const std::vector<std::filesystem::path>& places) const;
  // Returns a function of the library, which stays open until the process ends.
  void* symbol(const std::filesystem::path& path, const char* name) const;
};

}  // namespace kb
