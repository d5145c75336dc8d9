// GPT-2 (Radford et al. 2019), the decoder-only transformer with layer norm before each part (section 2.3), learned
// positions and a tied embedding, in the names and shapes of transformers' GPT2LMHeadModel. By default it is small and
// learns a drawn language whose entropy is known; --data names a text, whose bytes are its tokens, or llm.c's files of
// tokens.
#include <fmt/format.h>

#include <cmath>

#include "data/text/byte_text.h"
#include "data/text/token_file.h"
#include "data/text/words.h"
#include "recipes/config/values.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/table.h"
#include "recipes/task/sequence_model.h"
#include "recipes/task/token_task.h"

namespace kb {
namespace {

struct GptOptions {
  int64_t dim, layers, heads, context, vocabulary;
  double dropout;
  double width;  // dim over --base-dim; 1 without it
};

GptOptions options_of(const OptionValues& values) {
  const int64_t dim = values.whole("dim"), base = values.whole("base-dim"), heads = values.whole("heads");
  if (dim % heads != 0) refuse_value("--heads", fmt::format("a divisor of --dim {}", dim), fmt::to_string(heads));
  return {dim,
          values.whole("layers"),
          heads,
          values.whole("context"),
          values.whole("vocabulary"),
          values.real("dropout"),
          base > 0 ? static_cast<double>(dim) / static_cast<double>(base) : 1};
}

// Radford et al. 2019, section 2.3, scale the initial weights of layers that end in the residual by 1 / sqrt(their
// number); 0.02 is from the code of their first model.
constexpr double kDeviation = 0.02;
double into_residual(const GptOptions& options) {
  return kDeviation / std::sqrt(2.0 * static_cast<double>(options.layers));
}

// A layer that maps features to features is a hidden one of Yang et al. 2022, table 8. With m the width over the base
// width, its matrix starts at 1 / sqrt(m) of the deviation and has 1 / m of the learning rate.
Tensor affine(const char* name, Tensor x, int64_t features, const GptOptions& options, double deviation = kDeviation) {
  return linear(
      name, x, features,
      {.init = normal(deviation / std::sqrt(options.width)), .weight_in_out = true, .rate = 1 / options.width});
}

// The tokens that a part of the net sees: of whole samples, or of a step that writes one token more.
struct View {
  std::function<Tensor(Tensor table)> positions;  // the rows of a table [context, dim] that are added to the tokens
  // Attention of q, k and v [N, T, dim] in a layer, which also says how the values of earlier steps are called.
  std::function<Tensor(const std::string& layer, Tensor q, Tensor k, Tensor v, AttentionOptions options)> attend;
};

Tensor attention_part(const std::string& layer, Tensor x, const GptOptions& options, const View& view) {
  const Scope scope("attn");
  const int64_t d = options.dim;
  // An axis of its own for q, k and v, and one for heads: the gradient then joins the three without index arithmetic.
  const Tensor all =
      reshape(affine("c_attn", x, 3 * d, options), {x.size(0), x.size(1), 3, options.heads, d / options.heads});
  const auto part = [&](int64_t i) { return reshape(slice(all, 2, i, i + 1), x.shape()); };
  // Scores are divided by the features of a head, and multiplied by the root of those at the base width.
  const double scale = 1 / std::sqrt(static_cast<double>(d / options.heads) * options.width);
  const Tensor heads = view.attend(layer, part(0), part(1), part(2), {.heads = options.heads, .scale = scale});
  return dropout("resid_dropout", affine("c_proj", heads, d, options, into_residual(options)), options.dropout);
}

Tensor perceptron_part(Tensor x, const GptOptions& options) {
  const Scope scope("mlp");
  const Tensor hidden = gelu_tanh(affine("c_fc", x, 4 * options.dim, options));
  return dropout("dropout", affine("c_proj", hidden, options.dim, options, into_residual(options)), options.dropout);
}

Tensor block(const std::string& name, Tensor x, const GptOptions& options, const View& view) {
  const Scope scope(name);
  x = x + attention_part(name, layer_norm("ln_1", x), options, view);
  return x + perceptron_part(layer_norm("ln_2", x), options);
}

Tensor table(const char* name, Graph& graph, DType real, int64_t rows, int64_t dim) {
  const Scope scope(name);
  return parameter(graph, "weight", Role::embedding, {real, {rows, dim}, ""}, resolve(name, normal(kDeviation), {}));
}

// tokens i32 [N, T], T at most the context -> logits [N, T, vocabulary] of the token after each.
Tensor gpt_logits(Tensor tokens, DType real, const GptOptions& options, const View& view) {
  const Scope scope("transformer");
  const Tensor embedded = table("wte", tokens.graph(), real, options.vocabulary, options.dim);
  const Tensor positions = table("wpe", tokens.graph(), real, options.context, options.dim);
  Tensor x = dropout("drop", gather(embedded, tokens) + view.positions(positions), options.dropout);
  for (int64_t layer = 0; layer < options.layers; ++layer) x = block("h." + std::to_string(layer), x, options, view);
  x = layer_norm("ln_f", x);
  if (options.width != 1) x = x * (1 / options.width);  // the output multiplier of table 8, of fewer elements here
  const Dims shape = {tokens.size(0), tokens.size(1), options.vocabulary};
  return reshape(matmul(reshape(x, {-1, options.dim}), embedded, false, true), shape);
}

// Samples that are there as a whole, of `length` tokens each: no token sees those behind it.
View whole_samples(int64_t length) {
  return {.positions = [length](Tensor table) { return slice(table, 0, 0, length); },
          .attend =
              [](const std::string&, Tensor q, Tensor k, Tensor v, AttentionOptions options) {
                options.causal = true;
                return attention(q, k, v, options);
              }};
}

// Returns the logits of the token behind each that the step reads, [rows x tokens, vocabulary].
Tensor next_token(DecoderStep& step, const GptOptions& options) {
  const View read{.positions = [&](Tensor table) { return gather(table, step.places()); },
                  .attend = [&](const std::string& layer, Tensor q, Tensor k, Tensor v,
                                AttentionOptions seen) { return step.attend(layer, q, k, v, seen); }};
  return reshape(gpt_logits(step.tokens(), step.real(), options, read), {-1, options.vocabulary});
}

// The model predicts each token of a sample but the first from those before it.
ModelOutput gpt_model(Inputs& in, const GptOptions& options, const TokenFacts& text) {
  const Tensor tokens = in["tokens"];
  const Dims whole = {tokens.size(0), options.context}, of_pieces = {-1, options.context / in.pieces()};
  const Tensor seen = reshape(slice(tokens, 1, 0, options.context), of_pieces);
  const Tensor logits = gpt_logits(seen, in.real(), options, whole_samples(of_pieces[1]));
  const Tensor next = reshape(slice(tokens, 1, 1, options.context + 1), of_pieces);
  const Tensor losses = reshape(cross_entropy(logits, next, in.scalar(kLabelSmoothing)), whole);
  const Tensor loss = mean(losses, {1});
  return {loss, token_metrics(text, loss), reshape(logits, {whole[0], whole[1], options.vocabulary})};
}

Task gpt_task(const TaskRequest& request) {
  const GptOptions options = options_of(request.options);
  const bool is_drawn = request.data.empty(), are_bytes = is_drawn || !has_token_files(request.data);
  const TokenFacts facts{are_bytes, is_drawn && !request.is_noise ? words_entropy() : 0};
  Task task = {
      .name = "gpt",
      .fields = {{.name = "tokens", .dtype = DType::i32, .shape = {options.context + 1}, .below = options.vocabulary}},
      .model = [options, facts](Inputs& in) { return gpt_model(in, options, facts); },
      .sequence = options.context,
      .next_token = [options](DecoderStep& step) { return next_token(step, options); }};
  if (is_drawn)
    set_words(task, options.context + 1, set_token_sources);
  else
    set_token_sources(task,
                      are_bytes ? read_byte_text(request.data) : open_token_files(request.data, options.vocabulary));
  return task;
}

// The sizes of Radford et al. 2019, table 2, with the counts of parameters that their code gives.
struct PaperSize {
  const char* name;
  int64_t layers, dim, heads;
};
constexpr PaperSize kPaperSizes[] = {
    {"124M", 12, 768, 12}, {"355M", 24, 1024, 16}, {"774M", 36, 1280, 20}, {"1558M", 48, 1600, 25}};

std::vector<std::string> paper_names() {
  std::vector<std::string> names = {"none"};
  for (const PaperSize& size : kPaperSizes) names.emplace_back(size.name);
  return names;
}

Preset gpt_preset(const PresetChoice& choice) {
  Preset preset{{"--clip-norm", "1"}, {}};
  for (const PaperSize& size : kPaperSizes)
    if (choice.options.word("paper") == size.name)
      append_flags(preset, {"--layers", fmt::to_string(size.layers), "--dim", fmt::to_string(size.dim), "--heads",
                            fmt::to_string(size.heads), "--context", "1024", "--vocabulary", "50257"});
  return preset;
}

}  // namespace

Recipe gpt() {
  return {.name = "gpt",
          .summary = "GPT-2, small, on a drawn language or a text of yours",
          .paper = "Radford et al. 2019, Language models are unsupervised multitask learners",
          .defaults = {.minibatch = 16,
                       .epochs = 1,
                       .optimizer = "adamw",
                       .hyper = {{"beta2", 0.95}, {"weight_decay", 0.1}},
                       .lr = 2e-3,
                       .warmup_epochs = 0.02},
          .options =
              {{.name = "dim", .value = 64, .doc = "features of a position"},
               {.name = "layers", .value = 2, .doc = "blocks of attention and perceptron", .below = 1001},
               {.name = "heads", .value = 2, .doc = "heads of an attention; they divide --dim"},
               {.name = "context", .value = 64, .doc = "tokens that a sample's predictions see at most"},
               {.name = "base-dim",
                .value = 0,
                .doc = "--dim of a smaller net whose learning rates suit this one, too (muP for adamw and its kind: "
                       "rates, initial values and scores follow from --dim over this); 0: off",
                .low = 0},
               {.name = "vocabulary", .value = kByteVocabulary, .doc = "tokens that there are; 256 of a text as bytes"},
               fraction_option("dropout", 0,
                               "share left out in training, of embeddings and before each sum with the residual"),
               word_option("paper", paper_names(), "a size of the paper, of 1024 tokens of its vocabulary")},
          .preset = gpt_preset,
          .task = gpt_task};
}

}  // namespace kb
