// The plug-in libkilobatch_pieces.so: SentencePiece behind data/text/piece_library.h.
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <stdexcept>
#include <unordered_map>

#include "data/text/piece_library.h"
#include "data/text/vocabulary.h"

namespace kb {
namespace {

namespace sp = sentencepiece;

/// Throws for a status that is not ok. SentencePiece's text begins with places in its source, up to a bracket.
void check(const sp::util::Status& status) {
  if (status.ok()) return;
  const std::string text = status.ToString();
  const size_t bracket = text.rfind("] ");
  throw std::runtime_error(bracket == std::string::npos ? text : text.substr(bracket + 2));
}

/// The sentences as the trainer reads them.
class Sentences : public sp::SentenceIterator {
 public:
  explicit Sentences(std::span<const std::string> all) : rest_(all) {}
  bool done() const override { return rest_.empty(); }
  void Next() override { rest_ = rest_.subspan(1); }
  const std::string& value() const override { return rest_.front(); }
  sp::util::Status status() const override { return {}; }

 private:
  std::span<const std::string> rest_;
};

class Model : public PieceModel {
 public:
  explicit Model(std::string_view bytes) { check(processor_.LoadFromSerializedProto(bytes)); }
  int size() const override { return processor_.GetPieceSize(); }
  std::string piece(int id) const override { return processor_.IdToPiece(id); }
  int unknown() const override { return processor_.unk_id(); }
  bool is_control(int id) const override { return processor_.IsControl(id); }
  std::vector<int> encode(std::string_view sentence) const override {
    std::vector<int> ids;
    check(processor_.Encode(sentence, &ids));
    return ids;
  }
  std::string decode(const std::vector<int>& ids) const override {
    std::string sentence;
    check(processor_.Decode(ids, &sentence));
    return sentence;
  }

 private:
  sp::SentencePieceProcessor processor_;
};

class Library : public PieceLibrary {
 public:
  std::string learn(std::span<const std::string> sentences, const PieceOptions& options) const override {
    const std::unordered_map<std::string, std::string> settings = {
        {"model_type", options.kind == PieceModelKind::bpe ? "bpe" : "unigram"},
        {"vocab_size", std::to_string(options.pieces)},
        {"pad_id", std::to_string(kPaddingToken)},
        {"bos_id", std::to_string(kBeginToken)},
        {"eos_id", std::to_string(kEndToken)},
        {"unk_id", std::to_string(kUnknownToken)},
        {"character_coverage", std::to_string(options.character_coverage)},
        {"num_threads", "4"},   // its sums depend on their number, whatever the machine has
        {"minloglevel", "2"}};  // errors alone
    Sentences all(sentences);
    std::string model;
    check(sp::SentencePieceTrainer::Train(settings, &all, &model));
    return model;
  }
  std::unique_ptr<const PieceModel> open(std::string_view model) const override {
    return std::make_unique<Model>(model);
  }
};

}  // namespace
}  // namespace kb

extern "C" __attribute__((visibility("default"))) const kb::PieceLibrary* kilobatch_pieces(int version) {
  static const kb::Library library;
  return version == kb::kPieceLibraryVersion ? &library : nullptr;
}
