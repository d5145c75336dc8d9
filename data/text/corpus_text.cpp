#include "data/text/corpus_text.h"

#include <fmt/format.h>

#include <iterator>

#include "data/error.h"
#include "data/gzip.h"
#include "data/text/unicode.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

void check_line(const fs::path& path, size_t number, std::string_view line) {
  const size_t at = find_no_character(line);
  if (at == std::string_view::npos) return;
  throw DataError({path.string(), fmt::format("line {} is not UTF-8", number), "text in UTF-8",
                   fmt::format("the byte {:02x} at byte {} of the line", static_cast<uint8_t>(line[at]), at + 1),
                   "of another encoding? convert it: iconv -f ISO-8859-1 -t UTF-8"});
}

SentencePairs read_pairs(const AlignedFiles& files) {
  if (!files.exist()) return {};
  SentencePairs pairs{read_sentences(files.source), read_sentences(files.target)};
  if (pairs.source.size() != pairs.target.size())
    throw DataError({files.source.string(), fmt::format("not line for line {}", files.target.string()),
                     "as many lines in both files", fmt::format("{} and {}", pairs.source.size(), pairs.target.size()),
                     "one was cut short, or they are of different texts"});
  return pairs;
}

/// Moves the last sentences of `from`.
std::vector<std::string> take_last(std::vector<std::string>& from, size_t count) {
  std::vector<std::string> last(std::make_move_iterator(from.end() - static_cast<std::ptrdiff_t>(count)),
                                std::make_move_iterator(from.end()));
  from.resize(from.size() - count);
  return last;
}

}  // namespace

std::vector<std::string> read_sentences(const fs::path& path) {
  const Bytes bytes = read_unpacked(path);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_line(path, lines.size() + 1, line);
    lines.emplace_back(line);
  }
  return lines;
}

CorpusText read_corpus(const Corpus& corpus) {
  CorpusText text{.name = corpus.name,
                  .source = corpus.source,
                  .target = corpus.target,
                  .train = read_pairs(corpus.train),
                  .valid = read_pairs(corpus.valid),
                  .test = read_pairs(corpus.test),
                  .note = corpus.note};
  if (!corpus.valid.exist() && !corpus.test.exist()) {
    const auto count = static_cast<size_t>(text.train.count() + 99) / 100;
    text.test = {take_last(text.train.source, count), take_last(text.train.target, count)};
  }
  if (text.train.count() == 0)
    throw DataError({corpus.train.source.string(), "no pairs to train on", "2 lines or more",
                     fmt::format("{}", text.test.count()), ""});
  return text;
}

}  // namespace kb
