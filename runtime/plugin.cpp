#include "runtime/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "runtime/commit.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

using Version = const char* (*)();

std::vector<fs::path> folders_of_loader() {
  void* const program = ::dlopen(nullptr, RTLD_NOW);
  Dl_serinfo size;
  std::vector<fs::path> folders;
  if (!program || ::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return folders;
  // The loader says how much memory it needs, which is more than the type.
  std::vector<Dl_serinfo> memory(size.dls_size / sizeof size + 1);
  memory[0] = size;
  if (::dlinfo(program, RTLD_DI_SERINFO, memory.data()) != 0) return folders;
  for (unsigned i = 0; i < memory[0].dls_cnt; ++i) folders.emplace_back(memory[0].dls_serpath[i].dls_name);
  return folders;
}

}  // namespace

void Plugin::missing(const std::string& what_is, const std::string& got, const char* hint) const {
  throw Error(fmt::format("{}\n  missing: {}\n  got:     {}\n  hint:    {}", refusal, what_is, got, hint));
}

std::vector<fs::path> Plugin::places() const {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places = {folder / file, folder.parent_path() / "lib" / file};
  for (const fs::path& other : folders_of_loader())
    if (const fs::path place = (other / file).lexically_normal();
        std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(place);
  return places;
}

fs::path Plugin::find(const std::vector<fs::path>& places) const {
  std::string tried;
  for (const fs::path& path : places) {
    if (std::error_code none; fs::exists(path, none)) return path;
    tried += (tried.empty() ? "no " : ", no ") + path.string();
  }
  const std::string target = fs::path(file).stem().string().substr(std::string_view("lib").size());
  missing(
      fmt::format("{}, {}, which is not built", what, file), tried,
      fmt::format("cmake --build BUILD --target {} builds it; where there is no such target, {}", target, how).c_str());
}

void* Plugin::symbol(const fs::path& path, const char* name) const {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) missing(fmt::format("a library that {} needs", what), dlerror(), how);
  const auto find = [&](const char* wanted) {
    void* found = dlsym(library, wanted);
    if (!found) missing(what, fmt::format("{} has no {}", path.string(), wanted), how);
    return found;
  };
  const std::string version = reinterpret_cast<Version>(find(version_symbol))();
  if (version != build_version())
    missing(fmt::format("{} of this build", what),
            fmt::format("{} of version {}, where the program has {}", path.string(), version, build_version()),
            "build both together");
  return find(name);
}

}  // namespace kb
