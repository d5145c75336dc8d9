// BERT (Devlin et al. 2019, "BERT: pre-training of deep bidirectional transformers", arXiv 1810.04805) as a masked
// language model, in the names and shapes of transformers' BertForMaskedLM, trained with LAMB (You et al. 2019, "Large
// batch optimization for deep learning: training BERT in 76 minutes", arXiv 1904.00962). By default it is small and
// learns a drawn language; --data names a text, whose bytes are its tokens, or llm.c's files of tokens. Sentences are
// no unit of these texts, so the next sentence is not predicted, and all positions are of the first token type.
#include <fmt/format.h>

#include <cmath>

#include "data/text/byte_text.h"
#include "data/text/token_file.h"
#include "data/text/unigram.h"
#include "data/text/words.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "recipes/config/values.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/table.h"
#include "recipes/task/masked_tokens.h"
#include "recipes/task/token_task.h"

namespace kb {
namespace {

constexpr double kBertEpsilon = 1e-12;  // in layer norms, as in their code

struct BertOptions {
  int64_t dim, layers, heads, positions, vocabulary, token_types;
  double deviation;  // of initial weights
  double dropout;
  MaskRule rule;
};

int64_t mask_token(const OptionValues& values) {
  const int64_t vocabulary = values.whole("vocabulary"), given = values.whole("mask-token");
  if (given >= vocabulary)
    refuse_value("--mask-token", fmt::format("a token below --vocabulary {}", vocabulary), fmt::to_string(given));
  return given < 0 ? vocabulary - 1 : given;
}

MaskRule mask_rule(const OptionValues& values) {
  const int64_t context = values.whole("context");
  const auto predictions = std::llround(values.real("mask-share") * static_cast<double>(context));
  return {context, std::max<int64_t>(1, predictions), static_cast<int32_t>(mask_token(values)),
          values.whole("vocabulary")};
}

BertOptions options_of_bert(const OptionValues& values) {
  const int64_t dim = values.whole("dim"), heads = values.whole("heads"), context = values.whole("context");
  const int64_t positions = values.whole("positions");
  const double deviation = values.real("deviation");
  if (dim % heads != 0) refuse_value("--heads", fmt::format("a divisor of --dim {}", dim), fmt::to_string(heads));
  if (positions > 0 && positions < context)
    refuse_value("--positions", fmt::format("--context {} or more, or 0", context), fmt::to_string(positions));
  return {dim,
          values.whole("layers"),
          heads,
          positions > 0 ? positions : context,
          values.whole("vocabulary"),
          values.whole("token-types"),
          deviation > 0 ? deviation : 1 / std::sqrt(static_cast<double>(dim)),
          values.real("dropout"),
          mask_rule(values)};
}

Tensor dense(const char* name, Tensor x, int64_t features, const BertOptions& options) {
  return linear(name, x, features, {.init = normal(options.deviation)});
}

Tensor norm_of_bert(Tensor x) { return layer_norm("LayerNorm", x, {.epsilon = kBertEpsilon}); }

// What ends a part of a layer: a linear layer, dropout, the residual and its norm.
Tensor output_part(Tensor part, Tensor residual, const BertOptions& options) {
  const Scope scope("output");
  return norm_of_bert(residual + dropout("dropout", dense("dense", part, options.dim, options), options.dropout));
}

Tensor self_attention(Tensor x, const BertOptions& options) {
  const Scope scope("self");
  const auto projected = [&](const char* name) { return dense(name, x, options.dim, options); };
  return attention(projected("query"), projected("key"), projected("value"),
                   {.heads = options.heads, .dropout = options.dropout});
}

Tensor bert_layer(int64_t number, Tensor x, const BertOptions& options) {
  const Scope scope(fmt::format("layer.{}", number));
  {
    const Scope of_attention("attention");
    x = output_part(self_attention(x, options), x, options);
  }
  Tensor hidden;
  {
    const Scope of_hidden("intermediate");
    hidden = gelu(dense("dense", x, 4 * options.dim, options));
  }
  return output_part(hidden, x, options);
}

Tensor bert_table(const char* name, Inputs& in, int64_t rows, const BertOptions& options) {
  const Scope scope(name);
  const Init init = resolve(name, normal(options.deviation), {});
  return parameter(in.graph(), "weight", Role::embedding, {in.real(), {rows, options.dim}, ""}, init);
}

struct Embedded {
  Tensor words;  // the table, [vocabulary, dim]
  Tensor x;      // [N, T, dim]
};

Embedded embed(Inputs& in, Tensor tokens, const BertOptions& options) {
  const Scope scope("embeddings");
  const Tensor words = bert_table("word_embeddings", in, options.vocabulary, options);
  const Tensor positions = bert_table("position_embeddings", in, options.positions, options);
  const Tensor types = bert_table("token_type_embeddings", in, options.token_types, options);
  // [T, dim]: the same for all samples, and so added before the words.
  const Tensor places = slice(positions, 0, 0, tokens.size(1)) + slice(types, 0, 0, 1);
  const Tensor x = norm_of_bert(gather(words, tokens) + places);
  return {words, dropout("dropout", x, options.dropout)};
}

Embedded encode(Inputs& in, const BertOptions& options) {
  const Scope scope("bert");
  Embedded all = embed(in, reshape(in["tokens"], {-1, options.rule.length / in.pieces()}), options);
  const Scope of_encoder("encoder");
  for (int64_t number = 0; number < options.layers; ++number) all.x = bert_layer(number, all.x, options);
  return all;
}

// x [N pieces, T / pieces, dim], places [N, P] in [0, T) -> [N P, dim], the features at the places.
Tensor at_places(Tensor x, Tensor places) {
  const int64_t samples = places.size(0), positions = x.size(0) * x.size(1) / samples;
  const Tensor first = reshape(iota(x.graph(), DType::i32, samples), {-1, 1}) * static_cast<double>(positions);
  return gather(reshape(x, {-1, x.size(2)}), reshape(places + first, {-1}));
}

// Returns the logits of the predicted places, [N P, vocabulary]: all other places need none.
Tensor predicted_logits(Inputs& in, const BertOptions& options) {
  const Embedded encoded = encode(in, options);
  const Scope scope("cls"), of_predictions("predictions");
  Tensor x = at_places(encoded.x, in["places"]);
  {
    const Scope of_transform("transform");
    x = norm_of_bert(gelu(dense("dense", x, options.dim, options)));
  }
  const Tensor bias =
      parameter(in.graph(), "bias", Role::bias, {in.real(), {options.vocabulary}, ""}, resolve("", zeros, {}));
  return matmul(x, encoded.words, false, true) + bias;
}

// `unigram` is the loss of the text's unigram model in nats a token; 0: it is not known.
std::vector<Metric> bert_metrics(Tensor loss, Tensor right, double unigram) {
  std::vector<Metric> metrics = {{"perplexity", loss, {.finish = std::exp}}, {"error", 1.0 - right}};
  if (unigram > 0)
    metrics.emplace_back(std::vector<NamedMetric>{{"unigram"}, {"of_unigram"}}, std::vector<MetricOutput>{{loss}},
                         [unigram](std::span<const MetricValues> sums, int64_t samples) {
                           return std::vector{unigram, counted_mean(sums[0].values[0], samples) / unigram};
                         });
  return metrics;
}

// All samples have as many predictions, so that the mean over a sample's, and then over samples, is that over all.
ModelOutput bert_model(Inputs& in, const BertOptions& options, double unigram) {
  const Tensor logits = predicted_logits(in, options), labels = in["labels"];
  const Tensor losses = cross_entropy(logits, reshape(labels, {-1}), in.scalar(kLabelSmoothing));
  const Tensor right = cast(argmax_equals(logits, reshape(labels, {-1})), in.real());
  const auto of_sample = [&](Tensor x) { return mean(reshape(x, labels.shape()), {1}); };
  const Tensor loss = of_sample(losses);
  return {loss, bert_metrics(loss, of_sample(right), unigram),
          reshape(logits, {labels.size(0), labels.size(1), options.vocabulary})};
}

Task task_of_bert(const BertOptions& options, double unigram) {
  return {.name = "bert",
          .fields = masked_fields(options.rule, options.vocabulary),
          .model = [options, unigram](Inputs& in) { return bert_model(in, options, unigram); },
          .sequence = options.rule.length};
}

// Returns the rule for a text of bytes, among which the mask is none.
MaskRule rule_of_bytes(MaskRule rule, const OptionValues& values) {
  rule.tokens = kByteVocabulary;
  if (rule.mask < kByteVocabulary)
    refuse_value(
        values.whole("mask-token") < 0 ? "--vocabulary" : "--mask-token",
        fmt::format("a mask token that is no byte of the text: {} or more tokens of --vocabulary", kByteVocabulary + 1),
        fmt::format("the token {}", rule.mask));
  return rule;
}

Task task_of_words(const BertOptions& options, const OptionValues& values, bool is_noise) {
  Task task = task_of_bert(options, is_noise ? 0 : words_unigram_loss(WordsSpec()));
  set_words(task, options.rule.length, [rule = options.rule, values](Task& read, const TokenText& text) {
    set_masked_sources(read, text, rule_of_bytes(rule, values));
  });
  return task;
}

Task bert_task(const TaskRequest& request) {
  const BertOptions options = options_of_bert(request.options);
  if (request.data.empty()) return task_of_words(options, request.options, request.is_noise);
  const bool has_tokens = has_token_files(request.data);
  const TokenText text = has_tokens ? open_token_files(request.data, options.vocabulary) : read_byte_text(request.data);
  Task task = task_of_bert(options, unigram_loss(text));
  set_masked_sources(task, text, has_tokens ? options.rule : rule_of_bytes(options.rule, request.options));
  return task;
}

// The sizes of Devlin et al. 2019, section 3.
struct BertSize {
  const char* name;
  int64_t layers, dim, heads;
};
constexpr BertSize kBertSizes[] = {{"base", 12, 768, 12}, {"large", 24, 1024, 16}};

// The stages of You et al. 2019, section 4: nine tenths of the 512 million sequences (15,625 steps of 32,768) have 128
// tokens, and the rest 512. Over the 3.28 billion tokens of Devlin et al. 2019 (appendix A.2: 40 epochs are 1,000,000
// steps of 256 sequences of 512 tokens) these are 18 epochs and 8.
constexpr int64_t kLambContext = 512, kLambPieces = 4, kLambEpochs[] = {18, 8};

// The rate is tuned at a minibatch of 512 and scaled by the root of the minibatch; the epochs of warmup grow with the
// minibatch ("linear-epoch warmup").
constexpr int64_t kLambMinibatch = 512;
constexpr double kLambRate = 0.000625, kLambWarmupShare = 1.0 / 320;  // of the stage

// In the run of 76 minutes a step of the second stage has half as many sequences as one of the first.
constexpr const char *kEven = "even", *kMixed = "mixed";

struct LambStage {
  int64_t sequences;
  double rate, warmup_epochs;
};
LambStage lamb_stage(size_t number, int64_t sequences) {
  const double times = static_cast<double>(sequences) / kLambMinibatch;
  return {sequences, kLambRate * std::sqrt(times),
          static_cast<double>(kLambEpochs[number]) * std::min(1.0, times * kLambWarmupShare)};
}

// Appends the flags of a run whose steps begin with `minibatch` samples.
void append_stages(Preset& preset, int64_t minibatch, bool is_mixed) {
  const int64_t growth = is_mixed ? kLambPieces / 2 : kLambPieces;
  const LambStage first = lamb_stage(0, kLambPieces * minibatch), second = lamb_stage(1, growth * minibatch);
  const std::string rate = is_mixed ? fmt::format(":rate{:.6g}", second.rate / first.rate) : "";
  append_flags(preset, {"--context", fmt::to_string(kLambContext), "--minibatch", fmt::to_string(minibatch), "--epochs",
                        fmt::to_string(kLambEpochs[0] + kLambEpochs[1]), "--lr", fmt::format("{:.6g}", first.rate),
                        "--warmup-epochs", fmt::format("{:.6g}", first.warmup_epochs), "--minibatch-schedule",
                        fmt::format("{}ep:x{}:long{}{}:warm{:.6g}ep", kLambEpochs[0], growth, kLambPieces, rate,
                                    second.warmup_epochs)});
  preset.notes = {
      fmt::format("You et al. 2019, two stages: {} sequences of {} tokens a step for {} epochs, then {} of {} for {}; "
                  "the rate is {:.6g} x sqrt(sequences / {})",
                  first.sequences, kLambContext / kLambPieces, kLambEpochs[0], second.sequences, kLambContext,
                  kLambEpochs[1], kLambRate, kLambMinibatch),
      fmt::format("not confirmed in a source: the rate {} at {} and its warmup over {:.3g} of a stage", kLambRate,
                  kLambMinibatch, kLambWarmupShare),
      "not as in the paper: the next sentence is not predicted, and the predicted tokens of a sample of 512 are not a "
      "fixed number in each of its sequences of 128"};
}

Preset bert_preset(const PresetChoice& choice) {
  const std::string &paper = choice.options.word("paper"), &stages = choice.options.word("stages");
  if (paper == "none" && stages != kEven) refuse_value("--stages", "--paper base or large beside it", stages);
  Preset preset;
  for (const BertSize& size : kBertSizes)
    if (paper == size.name)
      append_flags(preset, {"--layers", fmt::to_string(size.layers), "--dim", fmt::to_string(size.dim), "--heads",
                            fmt::to_string(size.heads), "--vocabulary", "30522", "--mask-token", "103", "--token-types",
                            "2", "--dropout", "0.1", "--deviation", "0.02"});
  if (paper != "none") append_stages(preset, choice.minibatch.value_or(kLambMinibatch / kLambPieces), stages == kMixed);
  return preset;
}

}  // namespace

Recipe bert() {
  return {
      .name = "bert",
      .summary = "BERT, small, on masked tokens of a drawn language or a text of yours",
      .paper = "Devlin et al. 2019, BERT: pre-training of deep bidirectional transformers",
      .defaults = {.minibatch = 32,
                   .epochs = 1,
                   .optimizer = "lamb",
                   .lr = 5e-3,
                   .schedule = "polynomial",
                   .power = 1,
                   .warmup_epochs = 0.1},
      .options = {{.name = "dim", .value = 64, .doc = "features of a position"},
                  {.name = "layers", .value = 2, .doc = "layers of the encoder", .below = 1001},
                  {.name = "heads", .value = 2, .doc = "heads of an attention; they divide --dim"},
                  {.name = "context", .value = 64, .doc = "tokens of a sample"},
                  {.name = "positions",
                   .value = 0,
                   .doc = "positions that have an embedding; 0: --context, more for a later run of longer samples",
                   .low = 0},
                  {.name = "vocabulary",
                   .value = kByteVocabulary + 1,
                   .doc = "tokens that there are; 257 of a text as bytes: they and the mask"},
                  {.name = "mask-token", .value = -1, .doc = "token that hides others; -1: the last one", .low = -1},
                  {.name = "token-types", .value = 1, .doc = "rows of the table of token types; the first is used"},
                  {.name = "deviation",
                   .value = 0,
                   .doc = "standard deviation of initial weights; 0: 1 / sqrt(--dim)",
                   .low = 0,
                   .whole = false},
                  fraction_option("mask-share", 0.15, "share of places that are predicted"),
                  fraction_option("dropout", 0, "share left out in training"),
                  word_option("paper", {"none", "base", "large"},
                              "a size of the paper, of its vocabulary, with the settings of You et al. 2019"),
                  word_option("stages", {kEven, kMixed},
                              "sequences of a step in the two stages of --paper, of 128 tokens and then of 512: four "
                              "times --minibatch in both, or twice in the second")},
      .preset = bert_preset,
      .task = bert_task};
}

}  // namespace kb
