// Sentences of parallel texts, as their files have them.
#pragma once

#include <string>
#include <vector>

#include "data/text/find_corpus.h"

namespace kb {

/// Sentences of one part; sentence i of the source belongs to sentence i of the target.
struct SentencePairs {
  std::vector<std::string> source = {}, target = {};
  int64_t count() const { return static_cast<int64_t>(source.size()); }
};

struct CorpusText {
  std::string name;
  std::string source, target;  ///< languages
  SentencePairs train = {}, valid = {}, test = {};
  std::string note = {};  ///< as Corpus::note
};

/// Reads the lines of a file, plain or gzip: UTF-8, each ended by a line feed or by a carriage return and a line feed;
/// the end of the last one may be missing. A byte order mark at the begin is left out. Throws DataError for a file that
/// cannot be read; for other text it names the line.
std::vector<std::string> read_sentences(const std::filesystem::path& path);

/// Reads all parts. Without validation and test files the last hundredth of the training pairs (rounded up) is the test
/// part. Throws DataError as read_sentences does, when two files differ in their number of lines, and when no pair is
/// left for training.
CorpusText read_corpus(const Corpus& corpus);

}  // namespace kb
