#include "runtime/cuda/kept_picks.h"

#include <cctype>
#include <sstream>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/kernel_entry.h"
#include "runtime/trusted_folder.h"

namespace kb::cuda {
namespace {

namespace fs = std::filesystem;

// Reads the file, which has one pick a line: the call, a tab, the implementation.
LibraryPicks read_picks(const fs::path& file) {
  LibraryPicks picks;
  const TrustedFile kept = TrustedFolder(file.parent_path()).open(file.filename());
  if (!kept.exists() || !kept.refusal().empty()) return picks;
  try {
    std::istringstream lines(kept.read());
    for (std::string line; std::getline(lines, line);)
      if (const size_t tab = line.find('\t'); tab != std::string::npos)
        picks[line.substr(0, tab)] = line.substr(tab + 1);
  } catch (const Error&) {
  }
  return picks;
}

void write_picks(const fs::path& file, const LibraryPicks& picks) {
  std::string text;
  for (const auto& [call, pick] : picks) text += call + '\t' + pick + '\n';
  try {
    make_private_folder(file.parent_path());
    write_file_atomically(file, text, kEntryMode);
  } catch (const Error&) {
  }
}

class KeptPicks : public DeviceLibrary {
 public:
  KeptPicks(std::unique_ptr<DeviceLibrary> library, fs::path file)
      : library_(std::move(library)), file_(std::move(file)) {
    use_algorithm_choices({});
  }

  std::string name() const override { return library_->name(); }
  DType compute_dtype(DType dtype) const override { return library_->compute_dtype(dtype); }
  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    return library_->packed_bytes(graph, pack);
  }

  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    const int64_t bytes = library_->scratch_bytes(graph, node, epilogue);
    keep();
    return bytes;
  }
  std::unique_ptr<LibraryOp> plan(const Graph& graph, const Node& node, const Epilogue& epilogue) override {
    std::unique_ptr<LibraryOp> op = library_->plan(graph, node, epilogue);
    keep();
    return op;
  }

  LibraryPicks algorithm_choices() const override { return library_->algorithm_choices(); }
  void use_algorithm_choices(LibraryPicks picks) override {
    picks.merge(read_picks(file_));
    known_ = picks.size();
    library_->use_algorithm_choices(std::move(picks));
  }
  void add_choice(const std::string& call, const std::string& pick) override {
    library_->add_choice(call, pick);
    keep();
  }

 private:
  // Writes the picks. Other processes may have written theirs since the file was read, so it is read again.
  void keep() const {
    LibraryPicks picks = library_->algorithm_choices();
    if (picks.size() == known_) return;
    known_ = picks.size();
    picks.merge(read_picks(file_));
    write_picks(file_, picks);
  }

  std::unique_ptr<DeviceLibrary> library_;
  fs::path file_;
  mutable size_t known_ = 0;  // number of picks in the file or from use_algorithm_choices
};

}  // namespace

std::string picks_file_name(const std::string& device, const std::string& library, bool deterministic) {
  std::string name = "picks." + device + '.' + library + (deterministic ? "" : ".fast") + ".txt";
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.') c = '-';
  return name;
}

std::unique_ptr<DeviceLibrary> keep_picks(std::unique_ptr<DeviceLibrary> library, fs::path file) {
  return std::make_unique<KeptPicks>(std::move(library), std::move(file));
}

}  // namespace kb::cuda
