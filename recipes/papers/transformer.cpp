// The Transformer of Vaswani et al. 2017, "Attention is all you need" (arXiv 1706.03762): an encoder reads a sequence,
// a decoder writes another, token after token. Without data it learns to write numbers in words (data/text/numbers.h).
#include <fmt/format.h>

#include <cmath>

#include "data/text/numbers.h"
#include "data/text/tokenize_corpus.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "graph/transformer.h"
#include "recipes/config/values.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/table.h"
#include "recipes/task/noise.h"
#include "recipes/task/ragged_source.h"
#include "recipes/task/sequence_model.h"

namespace kb {
namespace {

struct TranslationOptions {
  int64_t dim, layers;
  bool is_shared;  // whether source and target have one vocabulary, and so one table of embeddings (section 3.4)
  int64_t source_vocabulary, target_vocabulary;
  bool counts_whole;  // whether whole sequences are judged; else the perplexity comes first
  TransformerOptions layer;
};

// Embeddings are drawn with deviation d^-0.5 and multiplied by d^0.5 (section 3.4), so that they stand beside positions
// of deviation 0.7, and logits of the same table have a deviation near 1.
Tensor table_of(Graph& graph, DType real, const char* name, int64_t vocabulary, int64_t dim) {
  const Scope scope(name);
  const Init init = resolve(name, normal(1 / std::sqrt(static_cast<double>(dim))), {});
  return parameter(graph, "weight", Role::embedding, {real, {vocabulary, dim}, ""}, init);
}

Tensor target_table(Graph& graph, DType real, const TranslationOptions& options) {
  return table_of(graph, real, options.is_shared ? "embedding" : "target_embedding", options.target_vocabulary,
                  options.dim);
}

// Adds to the tokens' embeddings, [N, T, dim], those of their places, [T, dim].
Tensor embedded(const char* name, Tensor table, Tensor tokens, Tensor places, const TranslationOptions& options) {
  const Scope scope(name);
  const Tensor x = gather(table, tokens) * std::sqrt(static_cast<double>(options.dim));
  return dropout("dropout", x + places, options.layer.dropout);
}

Tensor places_of(Tensor tokens, Tensor table) {
  return sinusoidal_positions(tokens.graph(), tokens.size(1), table.size(1), table.dtype());
}

// The norm behind the last layer, which only layers that norm their inputs need.
Tensor last_norm(Tensor x, const TranslationOptions& options) {
  return options.layer.pre_norm ? layer_norm("norm", x) : x;
}

std::string layer_name(int64_t layer) { return fmt::format("layers.{}", layer); }

Tensor encoded(Tensor x, Tensor lengths, const TranslationOptions& options) {
  const Scope scope("encoder");
  for (int64_t layer = 0; layer < options.layers; ++layer)
    x = encoder_layer(layer_name(layer), x, options.layer, {.lengths = lengths});
  return last_norm(x, options);
}

Tensor decoded(Tensor x, Tensor memory, Tensor lengths, const TranslationOptions& options) {
  const Scope scope("decoder");
  for (int64_t layer = 0; layer < options.layers; ++layer)
    x = decoder_layer(layer_name(layer), x, memory, options.layer, {.causal = true}, {.lengths = lengths});
  return last_norm(x, options);
}

struct Tables {
  Tensor source, target;
};

Tables tables_of(Inputs& in, const TranslationOptions& options) {
  const Tensor target = target_table(in.graph(), in.real(), options);
  if (options.is_shared) return {target, target};
  return {table_of(in.graph(), in.real(), "source_embedding", options.source_vocabulary, options.dim), target};
}

// x [N, T, dim] -> logits [N, T, vocabulary].
Tensor logits_of(Tensor x, Tensor target_table, const TranslationOptions& options) {
  const Dims shape = {x.size(0), x.size(1), options.target_vocabulary};
  return reshape(matmul(reshape(x, {-1, options.dim}), target_table, false, true), shape);
}

Tensor source_memory(Inputs& in, Tensor table, const TranslationOptions& options) {
  const Tensor source = in["source"];
  return encoded(embedded("source", table, source, places_of(source, table), options), in.length("source"), options);
}

// Returns the logits of the token behind each of the target's.
Tensor translation_logits(Inputs& in, Tensor target, const TranslationOptions& options) {
  const Tables tables = tables_of(in, options);
  const Tensor memory = source_memory(in, tables.source, options);
  const Tensor x = embedded("target", tables.target, target, places_of(target, tables.target), options);
  return logits_of(decoded(x, memory, in.length("source"), options), tables.target, options);
}

// The target is begin, its tokens, end: each predicts the one behind it. Losses are means over the target's tokens. A
// sequence whose every token is predicted from the true ones before it is what greedy decoding writes, so that the
// metric "exact" is that of greedy decoding.
ModelOutput translation_model(Inputs& in, const TranslationOptions& options) {
  const Tensor target = in["target"];
  const int64_t length = target.size(1);
  const Tensor next = slice(target, 1, 1, length);
  const Tensor logits = translation_logits(in, slice(target, 1, 0, length - 1), options);
  const Tensor loss = sum(cross_entropy(logits, next, in.scalar(kLabelSmoothing), kPaddingToken), {1});
  const Tensor count = cast(in.length("target"), in.real()) - 1.0;
  const Tensor each = reshape(logits, {-1, options.target_vocabulary});
  const Tensor is_right = reshape(cast(argmax_equals(each, reshape(next, {-1})), in.real()), next.shape());
  const Tensor right = sum(select(eq(next, static_cast<double>(kPaddingToken)), 0.0, is_right), {1});
  const Metric perplexity("perplexity", loss, {.finish = std::exp}, count);
  const Metric exact("exact", cast(right >= count, in.real()), {.is_share = true, .higher_is_better = true});
  ModelOutput output;
  output.losses = {{.values = loss, .count = count}};
  output.logits = logits;
  output.metrics = options.counts_whole ? std::vector{exact, perplexity} : std::vector{perplexity, exact};
  return output;
}

// Keys and values of a layer of the decoder, by their names in the memory.
std::string keys_name(int64_t layer) { return fmt::format("{}.keys", layer_name(layer)); }
std::string values_name(int64_t layer) { return fmt::format("{}.values", layer_name(layer)); }
constexpr const char* kLengths = "lengths";

// Reads the source once for all steps: what each layer of the decoder looks at.
std::vector<Memory> encode_step(Inputs& in, const TranslationOptions& options) {
  const Tensor memory = source_memory(in, tables_of(in, options).source, options);
  std::vector<Memory> all = {{kLengths, in.length("source")}};
  const Scope scope("decoder");
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const Scope of_layer(layer_name(layer)), of_attention("multihead_attn");
    const std::vector<Tensor> parts = project(in_projection(memory, options.layer.init), memory, 1, 2);
    all.push_back({keys_name(layer), parts[0]});
    all.push_back({values_name(layer), parts[1]});
  }
  return all;
}

// The attentions of a decoder's layer for one token x [rows, 1, dim], as decoder_layer has them for all.
Tensor looks_back(DecoderStep& step, int64_t layer, Tensor x, const TranslationOptions& options) {
  const Scope scope("self_attn");
  const std::vector<Tensor> parts = project(in_projection(x, options.layer.init), x, 0, 3);
  const Tensor heads = step.attend(layer_name(layer), parts[0], parts[1], parts[2], {.heads = options.layer.heads});
  return out_projection(heads, options.layer.init);
}

Tensor looks_at_source(DecoderStep& step, int64_t layer, Tensor x, const TranslationOptions& options) {
  const Scope scope("multihead_attn");
  const Tensor query = project(in_projection(x, options.layer.init), x, 0, 1)[0];
  return out_projection(attention(query, step.memory(keys_name(layer)), step.memory(values_name(layer)),
                                  {.heads = options.layer.heads, .lengths = step.memory(kLengths)}),
                        options.layer.init);
}

// Returns the logits of the next token, [rows, vocabulary].
Tensor decode_step(DecoderStep& step, const TranslationOptions& options) {
  const Tensor tokens = step.tokens(), table = target_table(tokens.graph(), step.real(), options);
  Tensor x = embedded("target", table, tokens, sinusoids(step.places(), options.dim, step.real()), options);
  {
    const Scope scope("decoder");
    for (int64_t layer = 0; layer < options.layers; ++layer) {
      const Scope of_layer(layer_name(layer));
      x = with_residual(
          "1", x, [&](Tensor y) { return looks_back(step, layer, y, options); }, options.layer);
      x = with_residual(
          "2", x, [&](Tensor y) { return looks_at_source(step, layer, y, options); }, options.layer);
      x = with_residual(
          "3", x, [&](Tensor y) { return feed_forward(y, options.layer); }, options.layer);
    }
    x = last_norm(x, options);
  }
  return reshape(logits_of(x, table, options), {tokens.size(0), options.target_vocabulary});
}

// The source gets an end token, so that no sequence is empty; the target begin and end.
std::shared_ptr<const Source> pairs_source(const SequencePairs& pairs, const PairPart& part) {
  RaggedTokens source, target;
  for (int64_t i = 0; i < part.count(); ++i) {
    std::vector<int32_t> from(part.source[i].begin(), part.source[i].end()), to = {kBeginToken};
    from.push_back(kEndToken);
    to.insert(to.end(), part.target[i].begin(), part.target[i].end());
    to.push_back(kEndToken);
    source.append(from);
    target.append(to);
  }
  return std::make_shared<RaggedSource>(std::vector{std::move(source), std::move(target)}, pairs.fingerprint);
}

Task task_of_model(const TranslationOptions& options) {
  return {.name = "transformer",
          .fields = {ragged_field("source", options.source_vocabulary), length_field("source"),
                     ragged_field("target", options.target_vocabulary), length_field("target")},
          .model = [options](Inputs& in) { return translation_model(in, options); }};
}

// Returns lines such as "en to de: vocabularies of 5921 and 7859 tokens".
std::string pairs_note(const SequencePairs& pairs) {
  const int64_t source = pairs.source.tokenizer->vocabulary().size(),
                target = pairs.target.tokenizer->vocabulary().size();
  std::string note = fmt::format("{} to {}: {}", pairs.source.language, pairs.target.language,
                                 pairs.source.tokenizer == pairs.target.tokenizer
                                     ? fmt::format("one vocabulary of {} tokens", source)
                                     : fmt::format("vocabularies of {} and {} tokens", source, target));
  if (!pairs.note.empty()) note += "\n" + pairs.note.substr(0, pairs.note.rfind('\n'));
  return note;
}

void set_pairs(Task& task, const SequencePairs& pairs) {
  task.data = pairs.name;
  task.note = pairs_note(pairs);
  task.train = pairs_source(pairs, pairs.train);
  if (pairs.test.count() > 0) task.test = pairs_source(pairs, pairs.test);
  if (pairs.valid.count() > 0) task.valid = pairs_source(pairs, pairs.valid);
}

// Returns the corpus with source and target in each other's place.
Corpus reversed(Corpus corpus) {
  std::swap(corpus.source, corpus.target);
  for (AlignedFiles* part : {&corpus.train, &corpus.valid, &corpus.test}) std::swap(part->source, part->target);
  return corpus;
}

SequencePairs pairs_of_corpus(const TaskRequest& request) {
  Corpus corpus = find_corpus(request.data);
  if (request.options.real("reverse") != 0) corpus = reversed(std::move(corpus));
  const CorpusText text = read_corpus(corpus);
  const int64_t most = request.options.whole("vocabulary");
  if (request.options.word("units") == "pieces")
    return tokenize_corpus(text, learn_piece_tokenizers(text, {.pieces = most}));
  return tokenize_corpus(text, learn_unit_tokenizers(text, TextUnit::word, true, {.most_tokens = most}));
}

TranslationOptions options_of_translation(const OptionValues& values) {
  TranslationOptions options{};
  options.dim = values.whole("dim");
  options.layers = values.whole("layers");
  options.source_vocabulary = options.target_vocabulary = values.whole("vocabulary");
  options.layer.heads = values.whole("heads");
  options.layer.hidden = values.whole("hidden");
  options.layer.dropout = values.real("dropout");
  options.layer.pre_norm = values.word("norm") == "pre";
  options.layer.init = glorot_uniform();
  if (options.dim % options.layer.heads != 0)
    refuse_value("--heads", fmt::format("a divisor of --dim {}", options.dim), fmt::to_string(options.layer.heads));
  return options;
}

constexpr int64_t kNoiseLength = 32;     // tokens of a sequence where a step is timed without data
constexpr int64_t kNoiseSamples = 1024;  // sequences of an epoch there

Task transformer_task(const TaskRequest& request) {
  TranslationOptions options = options_of_translation(request.options);
  const bool is_drawn = request.data.empty() && !request.is_noise;
  if (request.is_noise) {
    options.is_shared = true;
    Task task = task_of_model(options);
    task.length = kNoiseLength;
    task.train = task.test = field_noise(task.fields, kNoiseSamples);
    return task;
  }
  const auto shared = std::make_shared<const SequencePairs>(
      is_drawn ? number_pairs({.count = request.options.whole("numbers")}) : pairs_of_corpus(request));
  const SequencePairs& pairs = *shared;
  options.counts_whole = is_drawn;
  options.is_shared = pairs.source.tokenizer == pairs.target.tokenizer;
  options.source_vocabulary = pairs.source.tokenizer->vocabulary().size();
  options.target_vocabulary = pairs.target.tokenizer->vocabulary().size();
  Task task = task_of_model(options);
  set_pairs(task, pairs);
  task.sequences = std::make_shared<const SequenceModel>(
      SequenceModel{[options](Inputs& in) { return encode_step(in, options); },
                    [options](DecoderStep& step) { return decode_step(step, options); }, shared});
  for (const Source* part : {task.train.get(), task.test.get(), task.valid.get()})
    for (int64_t sample = 0; part && sample < part->count(); ++sample)
      task.length = std::max(task.length, part->length(sample));
  return task;
}

// base and big: table 3 of the paper; 37,000 is the vocabulary of its English-German data, in minibatches of about
// 25,000 tokens of each language (section 5.1), and the rate has the schedule of eq. 3 with 4,000 steps of warmup.
// mlperf: the big model of the reference of MLPerf Training v0.5
// (translation/tensorflow/transformer/model/model_params.py), whose layers norm their inputs.
struct TransformerSettings {
  const char* name;
  int64_t dim, heads, hidden;
  double dropout;
  int64_t vocabulary, tokens, steps;  // tokens of a step; steps: 0 where the settings say none
  const char* norm;
  double rate_factor;  // the rate is this times (dim max(step, warmup))^-0.5 behind the warmup
  int64_t warmup_steps;
  double beta2;
};
constexpr TransformerSettings kTransformerSettings[] = {
    {"base", 512, 8, 2048, 0.1, 37000, 25000, 100'000, "post", 1, 4000, 0.98},
    {"big", 1024, 16, 4096, 0.3, 37000, 25000, 300'000, "post", 1, 4000, 0.98},
    {"mlperf", 1024, 16, 4096, 0.1, 33945, 4096, 0, "pre", 2, 16000, 0.997}};

Preset preset_of_settings(const TransformerSettings& s, const PresetChoice& choice) {
  const double peak = s.rate_factor / std::sqrt(static_cast<double>(s.dim * s.warmup_steps));
  Preset preset{{"--dim",          fmt::to_string(s.dim),
                 "--layers",       "6",
                 "--heads",        fmt::to_string(s.heads),
                 "--hidden",       fmt::to_string(s.hidden),
                 "--dropout",      fmt::to_string(s.dropout),
                 "--vocabulary",   fmt::to_string(s.vocabulary),
                 "--norm",         s.norm,
                 "--lr",           fmt::format("{:.6g}", peak),
                 "--warmup-steps", fmt::to_string(s.warmup_steps),
                 "--beta2",        fmt::to_string(s.beta2)},
                {}};
  if (s.steps > 0) append_flags(preset, {"--steps", fmt::to_string(s.steps)});
  if (!choice.minibatch) append_flags(preset, {"--tokens", fmt::to_string(s.tokens)});
  preset.notes = {fmt::format("{}: the rate {:.6g} = {} ({} x {})^-0.5 (Vaswani et al. 2017, eq. 3)", s.name, peak,
                              s.rate_factor, s.dim, s.warmup_steps)};
  return preset;
}

Preset transformer_preset(const PresetChoice& choice) {
  for (const TransformerSettings& settings : kTransformerSettings)
    if (choice.options.word("paper") == settings.name) return preset_of_settings(settings, choice);
  return {};
}

}  // namespace

Recipe transformer() {
  return {
      .name = "transformer",
      .summary = "The Transformer: numbers into words, or a translation of texts of yours",
      .paper = "Vaswani et al. 2017, Attention is all you need",
      .defaults = {.minibatch = 64,
                   .epochs = 2,
                   .optimizer = "adam",
                   .hyper = {{"beta2", 0.98}, {"epsilon", 1e-9}},
                   .lr = 2e-3,
                   .schedule = "inverse-sqrt",
                   .warmup_epochs = 0.2,
                   .label_smoothing = 0.1},
      .options =
          {{.name = "dim", .value = 64, .doc = "features of a position"},
           {.name = "layers", .value = 2, .doc = "layers of each half", .below = 1001},
           {.name = "heads", .value = 4, .doc = "heads of an attention; they divide --dim"},
           {.name = "hidden", .value = 256, .doc = "hidden features"},
           fraction_option("dropout", 0.1, "share left out in training"),
           word_option("norm", {"pre", "post"}, "layer norms: before a part of a layer, or behind it, as in the paper"),
           {.name = "numbers", .value = 100'000, .doc = "numbers of the drawn set", .low = 10, .below = 1'000'001},
           {.name = "vocabulary", .value = 10000, .doc = "most tokens of a language of --data"},
           word_option("units", {"words", "pieces"}, "tokens of --data: words in lower case, or pieces of words"),
           switch_option("reverse", "translate the second language into the first"),
           word_option("paper", {"none", "base", "big", "mlperf"},
                       "settings of the paper (table 3, section 5), or of the reference of MLPerf Training v0.5")},
      .preset = transformer_preset,
      .task = transformer_task,
      .is_ragged = true};
}

}  // namespace kb
