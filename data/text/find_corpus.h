// The search for the files of parallel texts: a sentence a line in each of two languages, line for line.
//
// In a folder, a file's name without ".gz" is STEM.LANGUAGE, parted at its last dot ("train.de.gz", "test_2016.en").
// The stem says the part: one that begins with "train" is for training, with "val" or "dev" for validation, with "test"
// for the test. Other files are passed over, and so are stems that lack one of the two languages. A part with
// several stems is the first of them in the order of names; the note tells the others. Another path, which is not a
// folder, is itself the stem of training files: "corpora/europarl" stands for "corpora/europarl.de" and
// "corpora/europarl.en".
#pragma once

#include <filesystem>
#include <string>

namespace kb {

/// Files of one part, plain or gzip. Line i of the source belongs to line i of the target.
struct AlignedFiles {
  std::filesystem::path source = {}, target = {};  ///< both empty: there is no such part
  bool exist() const { return !source.empty(); }
};

struct Corpus {
  std::string name;
  std::string source = {}, target = {};  ///< languages
  AlignedFiles train = {}, valid = {}, test = {};
  std::string note = {};  ///< lines that tell which files were not chosen; "": none
};

/// A user's words on the files; empty members are found.
struct CorpusChoice {
  /// Languages. Without them the training files must be of two languages; the first in the order of names is then the
  /// source.
  std::string source = {}, target = {};
  std::string train = {}, valid = {}, test = {};  ///< stems
};

/// Finds the files. Throws DataError, which lists what is there, when no stem has training files of both languages, a
/// chosen stem has not, or the languages are not told and not two.
Corpus find_corpus(const std::filesystem::path& path, const CorpusChoice& choice = {});

}  // namespace kb
