#include "recipes/config/length_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kb {

FlagRow stop_at() {
  return {{"--stop-at", "WHEN",
           "end the run before its schedule ends, which stays as --epochs says: 500st after 500 steps, 30ep after 30 "
           "epochs, 8.5% at the first evaluation of at most that error"},
          [](RunConfig& config, const std::string& value) {
            if (value.empty()) refuse_value("--stop-at", "500st, 30ep or 8.5%", value);
            config.length.stop_at = parse_stop_at(value);
          },
          [](const RunConfig& config) { return config.length.stop_at.text(); }};
}

FlagRow target() {
  static constexpr const char* kName = "--target";
  static constexpr const char* kNone = "none";
  return {{kName, "METRIC=X",
           "end the run at the first evaluation in its course by which a metric is better than X, not as good: "
           "error=0.03, error=3%, loss=0.1, ema_loss=0.1 of the averaged parameters; none"},
          [](RunConfig& config, const std::string& value) {
            config.length.target.reset();
            if (value != kNone) config.length.target = parse_target(kName, value);
          },
          [](const RunConfig& config) { return config.length.target ? config.length.target->text() : ""; }};
}

FlagRow minibatch_schedule() {
  static constexpr const char* kName = "--minibatch-schedule";
  return {
      {kName, "WHEN:xF[:RULE]",
       "let the minibatch grow: 30ep:x5,60ep:x5 has five times as many workers, of as many samples, from the begin of "
       "epoch 30 on, and again from 60 on; 2000st:x2 and 50ks:x2 begin after 2000 steps and 50,000 samples. The "
       "learning rate stays that of the schedule; :sqrt or :linear behind a growth multiplies it by sqrt(F) or F, "
       ":rateF "
       "by F, and :again or :warm0.5ep lets the schedule begin anew, without or with a warmup. 18ep:long4 computes "
       "samples of sequences in 4 pieces, each by itself, until epoch 18"},
      [](RunConfig& config, const std::string& value) { config.batch.growths = parse_growths(kName, value); },
      [](const RunConfig& config) { return growths_text(config.batch.growths); }};
}

FlagRow bucket_lengths() {
  static constexpr const char* kName = "--bucket";
  return {
      {kName, "L,L",
       "rising lengths to which samples are padded, in place of those that --buckets chooses; training samples that "
       "are longer than the last are left out. inspect, bench and scale take the last one"},
      [](RunConfig& config, const std::string& value) {
        std::vector<int64_t> lengths;
        for (const std::string& word : comma_separated(value)) {
          const int64_t least = lengths.empty() ? 1 : lengths.back() + 1;
          lengths.push_back(
              parse_whole(kName, word, fmt::format("rising whole numbers, here >= {}", least), least, kWholeBelow));
        }
        config.batch.bucket = std::move(lengths);
      },
      [](const RunConfig& config) { return fmt::format("{}", fmt::join(config.batch.bucket, ",")); }};
}

FlagRow rounds_begin() {
  static constexpr const char* kName = "--from";
  return {{kName, "WHEN",
           "begin with replicas after 500st (steps) or 4ep (epochs), and sum gradients in every step before; none"},
          [](RunConfig& config, const std::string& value) {
            config.sync.from.reset();
            if (value != "none") config.sync.from = parse_duration(kName, value);
          },
          [](const RunConfig& config) { return config.sync.from ? config.sync.from->text() : ""; }};
}

FlagRow log_layers() {
  static constexpr const char* kName = "--log-layers";
  return {
      {kName, "EVERY",
       "write the norms of every layer's weights and gradient and its trust ratio into metrics.jsonl, each 50st "
       "(steps) or 1ep (epochs), draw them into layers.svg at the end, and give TensorBoard histograms of both; the "
       "same bits"},
      [](RunConfig& config, const std::string& value) { config.judging.log_layers = parse_duration(kName, value); },
      [](const RunConfig& config) { return config.judging.log_layers ? config.judging.log_layers->text() : ""; }};
}

}  // namespace kb
