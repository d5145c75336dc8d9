// summary: a text that a run's language model writes after a prompt: sample RUN --prompt TEXT
#include "recipes/models/sample.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdio>
#include <utility>

#include "data/text/byte_text.h"
#include "recipes/config/command_line.h"
#include "recipes/tools/commands.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

struct SampleCall {
  RunModelRequest request;
  std::string prompt;
  int64_t tokens = 200;
  std::string temperature = "1";
  SampleOptions options;
};

// Returns the prompt as tokens: its bytes, or for another vocabulary than bytes the numbers in it.
std::vector<int32_t> tokens_of(const std::string& prompt, bool are_bytes) {
  if (are_bytes) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(prompt.data());
    return {bytes, bytes + prompt.size()};
  }
  std::vector<int32_t> tokens;
  const char *at = prompt.data(), *end = at + prompt.size();
  while (at < end) {
    if (std::isspace(static_cast<unsigned char>(*at)) && ++at) continue;
    int32_t token = 0;
    const auto [next, error] = std::from_chars(at, end, token);
    if (error != std::errc()) refuse_value("--prompt", "numbers of tokens, as the run's tokens are no bytes", prompt);
    tokens.push_back(token);
    at = next;
  }
  return tokens;
}

}  // namespace

int sample_command(const ToolArguments& arguments) {
  SampleCall call;
  int64_t seed = 1;
  CommandLine line(
      "A text that a run's language model writes after a prompt, token by token. Where the run's tokens are not bytes, "
      "the prompt and the text are numbers of tokens.",
      tool_usage(arguments) + " RUN --prompt TEXT");
  line.text({"RUN", "", "the run's folder"}, call.request.run)
      .required()
      .text({"--prompt", "TEXT", "the beginning of the text; a line feed, or token 0, where it is not given"},
            call.prompt)
      .whole({"--tokens", "N", "tokens to write"}, call.tokens, 1)
      .text({"--temperature", "X", "divides the logits; 0: the most probable token each time"}, call.temperature)
      .whole({"--top-k", "K", "draw from the K most probable tokens; 0: from all"}, call.options.top_k, 0)
      .whole({"--seed", "N", "seed of what is drawn"}, seed, 0);
  add_state_flags(line, call.request);
  if (!line.parse(arguments.words)) return 0;
  call.options.temperature = parse_real("--temperature", call.temperature, "a number in [0, 100)", 100);
  call.options.seed = static_cast<uint64_t>(seed);
  Sampler sampler(call.request, arguments.recipe, [](const std::string& text) { print_error("sample: " + text); });
  print_error("sample: " + sampler.description());
  const bool are_bytes = sampler.vocabulary() == kByteVocabulary;
  if (call.prompt.empty()) call.prompt = are_bytes ? "\n" : "0";
  const std::vector<int32_t> prompt = tokens_of(call.prompt, are_bytes);
  if (std::ssize(prompt) + call.tokens - 1 > sampler.context())
    print_error(fmt::format("sample: each token after the first {} costs a pass over as many, the model's context",
                            sampler.context()));
  bool has_begun = false;
  sampler.write(prompt, call.tokens, call.options, [&](int32_t token) {
    if (!std::exchange(has_begun, true)) fmt::print("{}", call.prompt);
    are_bytes ? static_cast<void>(std::fputc(token, stdout)) : fmt::print(" {}", token);
    std::fflush(stdout);
  });
  fmt::print("\n");
  return 0;
}

}  // namespace kb
