#include "data/text/piece_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "data/error.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr char kPiecesPlugin[] = "libkilobatch_pieces.so";

[[noreturn]] void refuse_pieces(const std::string& got, const char* hint) {
  throw DataError(
      {"SentencePiece", "it cannot be used", fmt::format("Kilobatch's library {}", kPiecesPlugin), got, hint});
}

}  // namespace

std::vector<fs::path> piece_library_places() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / kPiecesPlugin, folder.parent_path() / "lib" / kPiecesPlugin, kPiecesPlugin};
}

const PieceLibrary& open_piece_library(const std::vector<fs::path>& places) {
  std::string tried;
  for (const fs::path& path : places) {
    if (std::error_code none; path.has_parent_path() && !fs::exists(path, none)) {
      tried += fmt::format("no {}; ", path.string());
      continue;
    }
    void* const plugin = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!plugin) {
      tried += fmt::format("{}; ", ::dlerror());
      continue;
    }
    const auto function = reinterpret_cast<PieceLibraryFunction>(::dlsym(plugin, "kilobatch_pieces"));
    const PieceLibrary* const library = function ? function(kPieceLibraryVersion) : nullptr;
    if (!library) refuse_pieces(fmt::format("{} of another version", path.string()), "build both together");
    return *library;
  }
  if (!tried.empty()) tried.resize(tried.size() - 2);
  refuse_pieces(tried,
                "cmake --build BUILD --target kilobatch_pieces builds it; where there is no such target, apt install "
                "libsentencepiece-dev, then configure again (cmake -DKB_SENTENCEPIECE=ON says what it does not find)");
}

}  // namespace kb
