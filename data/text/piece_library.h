// SentencePiece (Kudo and Richardson 2018) as Kilobatch uses it: it learns pieces of words, and splits sentences into
// them. The plug-in libkilobatch_pieces.so is between both.
//
// SentencePiece's library has a copy of protobuf inside, and shows its symbols. A program that has another protobuf
// would call one's code with the other's data, and does not survive it. So no program links SentencePiece; the plug-in
// is opened with RTLD_DEEPBIND, by which it prefers its own symbols.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

enum class PieceModelKind { unigram, bpe };

struct PieceOptions {
  PieceModelKind kind = PieceModelKind::unigram;
  int64_t pieces = 8000;    ///< Vocabulary::size, special tokens included
  bool lower_case = false;  ///< whether sentences are turned into lower case first
  /// Share of the characters of the sentences that pieces hold; the rarest ones beyond it are unknown. 0: all of them
  /// where the different characters are at most an eighth of the pieces, else 0.9995, as SentencePiece advises for
  /// small alphabets and for rich ones.
  double character_coverage = 0;
};

/// A learnt model. Several threads may call its functions at once.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  virtual int size() const = 0;
  virtual std::string piece(int id) const = 0;
  virtual int unknown() const = 0;            ///< id of what stands for characters that no piece has
  virtual bool is_control(int id) const = 0;  ///< whether it stands for no text, as begin, end and padding
  virtual std::vector<int> encode(std::string_view sentence) const = 0;
  virtual std::string decode(const std::vector<int>& ids) const = 0;
};

/// Its functions throw std::runtime_error with SentencePiece's reason.
class PieceLibrary {
 public:
  virtual ~PieceLibrary() = default;
  /// Returns the bytes of a model, those of a file "*.model" of SentencePiece. Padding, begin, end and unknown are the
  /// ids 0 to 3. The bytes follow from sentences and options, not from the number of processors.
  virtual std::string learn(std::span<const std::string> sentences, const PieceOptions& options) const = 0;
  virtual std::unique_ptr<const PieceModel> open(std::string_view model) const = 0;
};

/// The plug-in's only function, `kilobatch_pieces`. It returns null when asked for another version of this header.
constexpr int kPieceLibraryVersion = 1;
using PieceLibraryFunction = const PieceLibrary* (*)(int version);

/// Returns the places at which the plug-in may lie: the folder of the program, the lib folder next to that, and, by its
/// bare name, those of the system's loader.
std::vector<std::filesystem::path> piece_library_places();

/// Opens the plug-in, which stays open until the process ends. Throws DataError, which says how to get it, when it is
/// in none of the places or cannot be opened.
const PieceLibrary& open_piece_library(const std::vector<std::filesystem::path>& places = piece_library_places());

}  // namespace kb
