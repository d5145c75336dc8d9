#include "data/text/find_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "data/error.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr char kWhatToName[] = "the data is a folder, or the path of a text's files without .LANGUAGE";

/// The files of a folder: their paths by stem, then by language.
using CorpusFiles = std::map<std::string, std::map<std::string, fs::path>>;

CorpusFiles list_corpus_files(const fs::path& folder) {
  CorpusFiles files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    fs::path name = at->path().filename();
    const bool is_packed = name.extension() == ".gz";
    if (is_packed) name.replace_extension();
    if (std::error_code none; !name.has_extension() || at->is_directory(none)) continue;
    fs::path& place = files[name.stem().string()][name.extension().string().substr(1)];
    if (place.empty() || !is_packed) place = at->path();  // the plain file goes before the packed one
  }
  if (error) throw DataError({folder.string(), "cannot be listed: " + error.message(), "", "", ""});
  return files;
}

/// The names of a part: words that the stem of its files begins with, or the stem itself.
struct PartName {
  const char* part;
  std::vector<std::string> begins;
  std::string stem;  // chosen by the user; empty: the first that begins so

  bool takes(const std::string& other) const {
    if (!stem.empty()) return other == stem;
    return std::any_of(begins.begin(), begins.end(),
                       [&](const std::string& begin) { return other.starts_with(begin); });
  }
  std::string text() const { return stem.empty() ? fmt::format("{}*", fmt::join(begins, "* or ")) : stem; }
};

/// Returns the names of the first files, for a message.
std::string names_of(const CorpusFiles& files) {
  constexpr size_t kMost = 12;
  std::vector<std::string> names;
  for (const auto& [stem, languages] : files)
    for (const auto& [language, path] : languages) names.push_back(path.filename().string());
  const size_t told = std::min(names.size(), kMost);
  const auto more = names.size() > told ? fmt::format(" and {} more", names.size() - told) : "";
  return names.empty()
             ? "no file of the form NAME.LANGUAGE"
             : fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(told), ", "),
                           more);
}

/// Finds the languages and the files of each part in one folder.
class CorpusSearch {
 public:
  CorpusSearch(fs::path folder, const CorpusChoice& choice) : folder_(std::move(folder)), choice_(choice) {
    files_ = list_corpus_files(folder_);
  }

  /// Settles the two languages by those of the training files.
  void find_languages(const PartName& train, Corpus& corpus) const {
    std::set<std::string> found;
    for (const auto& [stem, languages] : files_)
      if (train.takes(stem))
        for (const auto& [language, path] : languages) found.insert(language);
    corpus.source = choice_.source;
    corpus.target = choice_.target;
    if (!corpus.source.empty() && !corpus.target.empty()) return;
    for (const std::string& language : found) {
      if (language == choice_.source || language == choice_.target) continue;
      std::string& side = corpus.source.empty() ? corpus.source : corpus.target;
      if (!side.empty()) refuse_languages(train, found);
      side = language;
    }
    if (corpus.target.empty()) refuse_languages(train, found);
  }

  AlignedFiles find(const PartName& part, bool is_needed, Corpus& corpus) const {
    std::vector<std::string> stems;
    for (const auto& [stem, languages] : files_)
      if (part.takes(stem) && languages.contains(corpus.source) && languages.contains(corpus.target))
        stems.push_back(stem);
    if (stems.empty() && (is_needed || !part.stem.empty())) refuse(part, corpus);
    if (stems.empty()) return {};
    if (stems.size() > 1)
      corpus.note += fmt::format("{} is of {}; not read: {}\n", part.part, stems.front(),
                                 fmt::join(stems.begin() + 1, stems.end(), ", "));
    const auto& languages = files_.at(stems.front());
    return {languages.at(corpus.source), languages.at(corpus.target)};
  }

 private:
  [[noreturn]] void refuse_languages(const PartName& train, const std::set<std::string>& found) const {
    throw DataError({folder_.string(), "which languages it holds is not clear",
                     fmt::format("files {}.LANGUAGE[.gz] of two languages, or the names of both", train.text()),
                     found.empty() ? names_of(files_) : fmt::format("the languages {}", fmt::join(found, ", ")),
                     found.empty() ? kWhatToName : "name the source and the target language"});
  }
  [[noreturn]] void refuse(const PartName& part, const Corpus& corpus) const {
    throw DataError({folder_.string(), fmt::format("no files for the {} part", part.part),
                     fmt::format("{0}.{1}[.gz] and {0}.{2}[.gz]", part.text(), corpus.source, corpus.target),
                     names_of(files_), kWhatToName});
  }

  fs::path folder_;
  const CorpusChoice& choice_;
  CorpusFiles files_;
};

}  // namespace

Corpus find_corpus(const fs::path& path, const CorpusChoice& choice) {
  std::error_code error;
  const fs::path plain = path.filename().empty() ? path.parent_path() : path;  // without a slash at its end
  const bool is_folder = fs::is_directory(plain, error);
  PartName train{"training", {"train"}, choice.train}, valid{"validation", {"val", "dev"}, choice.valid},
      test{"test", {"test"}, choice.test};
  if (!is_folder) {
    train.stem = plain.filename().string();
    valid.begins = test.begins = {};  // only chosen ones
  }
  const CorpusSearch search(is_folder ? plain : plain.has_parent_path() ? plain.parent_path() : fs::path("."), choice);
  Corpus corpus{.name = plain.filename().string()};
  search.find_languages(train, corpus);
  corpus.train = search.find(train, true, corpus);
  corpus.valid = search.find(valid, false, corpus);
  corpus.test = search.find(test, false, corpus);
  return corpus;
}

}  // namespace kb
