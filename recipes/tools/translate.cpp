// summary: what a run's model writes for sentences, by beam search, and its BLEU: translate RUN [--sentence TEXT]
#include <fmt/format.h>

#include "data/text/corpus_text.h"
#include "recipes/config/command_line.h"
#include "recipes/models/translate.h"
#include "recipes/task/bleu.h"
#include "recipes/task/sequence_model.h"
#include "recipes/tools/commands.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

struct TranslateCall {
  RunModelRequest request;
  std::filesystem::path text;
  std::vector<std::string> sentences;
  std::string length_penalty = "0.6";
  int64_t first = 0;
  bool is_quiet = false;
  TranslateOptions options;
};

// Returns the sequence as the model takes it, with an end token.
std::vector<int32_t> source_of(std::vector<int32_t> tokens) {
  tokens.push_back(kEndToken);
  return tokens;
}

std::vector<std::vector<int32_t>> sources_of(const PairSide& side, const std::vector<std::string>& sentences) {
  std::vector<std::vector<int32_t>> sources;
  for (const std::string& sentence : sentences) sources.push_back(source_of(side.tokenizer->encode(sentence)));
  return sources;
}

std::vector<std::vector<int32_t>> sources_of(const PairPart& part, int64_t count) {
  std::vector<std::vector<int32_t>> sources;
  for (int64_t i = 0; i < count; ++i) sources.push_back(source_of({part.source[i].begin(), part.source[i].end()}));
  return sources;
}

std::vector<std::string> sentences_of(const Tokenizer& tokenizer, const std::vector<std::vector<int32_t>>& written) {
  std::vector<std::string> sentences;
  for (const std::vector<int32_t>& tokens : written) sentences.push_back(tokenizer.decode(tokens));
  return sentences;
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

// Translates the test part and prints BLEU and the share of sentences that equal their references.
void translate_test(Translator& translator, const TranslateCall& call) {
  const SequencePairs& pairs = translator.pairs();
  const int64_t all = pairs.test.count(), count = call.first > 0 ? std::min(call.first, all) : all;
  if (count == 0) throw Error(fmt::format("{} has no test part: expected --sentence or --text", pairs.name));
  const Tokenizer& target = *pairs.target.tokenizer;
  const std::vector<std::string> sentences =
      sentences_of(target, translator.write(sources_of(pairs.test, count), call.options));
  if (!call.is_quiet) print_lines(sentences);
  const std::span references = std::span(pairs.test.references).first(static_cast<size_t>(count));
  int64_t equal = 0;
  for (size_t i = 0; i < sentences.size(); ++i) equal += sentences[i] == references[i];
  const Bleu bleu = corpus_bleu(sentences, references, target.decodes_to_words() ? BleuWords::spaces : BleuWords::v13a);
  print_error(fmt::format("translate: {} sentence{} of {}, beam {}: BLEU {:.2f} ({}), {:.2f} % equal their references",
                          count, count == 1 ? "" : "s", pairs.name, call.options.beams, bleu.score,
                          target.decodes_to_words() ? "words as they are" : "13a",
                          100 * static_cast<double>(equal) / static_cast<double>(count)));
}

}  // namespace

int translate_command(const ToolArguments& arguments) {
  TranslateCall call;
  CommandLine line(
      "What a run's model writes for sentences, by beam search. Without --sentence and --text it "
      "translates the test part of the run's data, and tells its BLEU.",
      tool_usage(arguments) + " RUN [--sentence TEXT]");
  line.text({"RUN", "", "the run's folder"}, call.request.run)
      .required()
      .texts({"--sentence", "TEXT", "a sentence to translate; may be given several times"}, call.sentences)
      .text({"--text", "FILE", "sentences to translate, one a line"}, call.text)
      .excludes("--sentence")
      .whole({"--first", "N", "translate the first N sentences of the test part; 0: all"}, call.first, 0)
      .whole({"--beam", "B", "beginnings that are kept of each sentence; 1: greedy"}, call.options.beams, 1)
      .text({"--length-penalty", "A",
             "power of (5 + tokens) / 6 that divides the logarithm of a probability (Wu et al. "
             "2016, eq. 14)"},
            call.length_penalty)
      .whole({"--minibatch", "N", "sentences that are written at once"}, call.options.minibatch, 1)
      .flag("--quiet", call.is_quiet, "print BLEU alone");
  add_state_flags(line, call.request);
  if (!line.parse(arguments.words)) return 0;
  call.options.length_penalty = parse_real("--length-penalty", call.length_penalty, "a number in [0, 10)", 10);
  Translator translator(call.request, arguments.recipe,
                        [](const std::string& text) { print_error("translate: " + text); });
  print_error("translate: " + translator.description());
  if (call.sentences.empty() && call.text.empty()) {
    translate_test(translator, call);
    return 0;
  }
  const std::vector<std::string> sentences = call.text.empty() ? call.sentences : read_sentences(call.text);
  const SequencePairs& pairs = translator.pairs();
  print_lines(
      sentences_of(*pairs.target.tokenizer, translator.write(sources_of(pairs.source, sentences), call.options)));
  return 0;
}

}  // namespace kb
