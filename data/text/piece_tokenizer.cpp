#include "data/text/piece_tokenizer.h"

#include <fmt/format.h>

#include <set>

#include "data/error.h"
#include "data/text/unicode.h"

namespace kb {
namespace {

/// Which of a model's ids each token after the special ones has.
std::vector<int> ids_of_tokens(const PieceModel& model) {
  std::vector<int> ids;
  for (int id = 0; id < model.size(); ++id)
    if (!model.is_control(id) && id != model.unknown()) ids.push_back(id);
  return ids;
}

std::vector<std::string> texts_of(const PieceModel& model, const std::vector<int>& ids) {
  std::vector<std::string> texts;
  for (const int id : ids) texts.push_back(model.piece(id));
  return texts;
}

class PieceTokenizer : public Tokenizer {
 public:
  PieceTokenizer(bool lower_case, std::unique_ptr<const PieceModel> model)
      : lower_case_(lower_case),
        model_(std::move(model)),
        ids_(ids_of_tokens(*model_)),
        tokens_(static_cast<size_t>(model_->size()), kUnknownToken),
        vocabulary_(texts_of(*model_, ids_)) {
    for (size_t i = 0; i < ids_.size(); ++i)
      tokens_[static_cast<size_t>(ids_[i])] = kSpecialTokens + static_cast<int32_t>(i);
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::vector<int32_t> encode(std::string_view sentence) const override {
    std::vector<int32_t> tokens;
    for (const int id : model_->encode(reference(sentence))) tokens.push_back(tokens_[static_cast<size_t>(id)]);
    return tokens;
  }
  std::string decode(std::span<const int32_t> tokens) const override {
    std::vector<int> ids;
    for (const int32_t token : tokens) {
      if (token == kEndToken) break;
      static_cast<void>(vocabulary_.text(token));  // throws for a number that is no token
      if (token == kUnknownToken) ids.push_back(model_->unknown());
      if (token >= kSpecialTokens) ids.push_back(ids_[static_cast<size_t>(token - kSpecialTokens)]);
    }
    return model_->decode(ids);
  }
  std::string reference(std::string_view sentence) const override {
    return lower_case_ ? to_lower_case(sentence) : std::string(sentence);
  }
  bool decodes_to_words() const override { return false; }

 private:
  const bool lower_case_;
  const std::unique_ptr<const PieceModel> model_;
  const std::vector<int> ids_;   // of the tokens from kSpecialTokens on
  std::vector<int32_t> tokens_;  // of the ids
  const Vocabulary vocabulary_;
};

double coverage_of(std::span<const std::string> sentences, const PieceOptions& options) {
  if (options.character_coverage > 0) return options.character_coverage;
  std::set<char32_t> characters;
  for (const std::string_view sentence : sentences)
    for (std::string_view rest = sentence; !rest.empty();) characters.insert(take_character(rest));
  return std::ssize(characters) <= options.pieces / 8 ? 1 : 0.9995;
}

std::string learn_model(std::span<const std::string> sentences, PieceOptions options) {
  const PieceLibrary& library = open_piece_library();
  if (sentences.empty()) throw DataError({"pieces", "no sentences to learn them on", "a sentence or more", "none", ""});
  options.character_coverage = coverage_of(sentences, options);
  try {
    if (!options.lower_case) return library.learn(sentences, options);
    std::vector<std::string> small;
    for (const std::string& sentence : sentences) small.push_back(to_lower_case(sentence));
    return library.learn(small, options);
  } catch (const std::runtime_error& error) {
    throw DataError({"pieces", fmt::format("SentencePiece learns no {} of them on these sentences", options.pieces),
                     "a number that the sentences allow", error.what(), ""});
  }
}

}  // namespace

std::shared_ptr<const Tokenizer> learn_piece_tokenizer(std::span<const std::string> sentences,
                                                       const PieceOptions& options) {
  const std::string model = learn_model(sentences, options);
  return std::make_shared<PieceTokenizer>(options.lower_case, open_piece_library().open(model));
}

}  // namespace kb
