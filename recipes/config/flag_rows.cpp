#include "recipes/config/flag_rows.h"

#include <cmath>
#include <limits>

namespace kb {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

template <class Whole>
FlagRow whole_row(FlagText text, Member<Whole> member, const std::string& expected, int64_t least, int64_t below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    return parse_whole(name, value, expected, least, below);
  });
}

template <class Real>
FlagRow real_row(FlagText text, Member<Real> member, const std::string& expected, double below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    return parse_real(name, value, expected, below);
  });
}

FlagRow positive_row(FlagText text, Member<double> member, const std::string& expected, double below) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    const double number = parse_real(name, value, expected, below);
    if (number == 0) refuse_value(name, expected, value);
    return number;
  });
}

template <class Seed>
FlagRow seed_row_of(FlagText text, Member<Seed> member) {
  return whole_row(std::move(text), member, "a whole number in [0, 2^32)", 0, int64_t{1} << 32);
}

}  // namespace

void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config) {
  for (const FlagRow& row : table)
    if (const auto at = given.find(row.text.name); at != given.end()) row.read(config, at->second);
}

FlagRow whole(FlagText text, Member<int64_t> member, bool may_be_zero) {
  const int64_t least = may_be_zero ? 0 : 1;
  return whole_row(std::move(text), member, whole_expectation(least), least, kWholeBelow);
}

FlagRow seed_row(FlagText text, Member<int64_t> member) { return seed_row_of(std::move(text), member); }
FlagRow seed_row(FlagText text, Member<std::optional<int64_t>> member) { return seed_row_of(std::move(text), member); }

FlagRow real(FlagText text, Member<double> member) {
  return real_row(std::move(text), member, "a number >= 0", kUnbounded);
}

FlagRow optional_real(FlagText text, Member<std::optional<double>> member) {
  return real_row(std::move(text), member, "a number >= 0", kUnbounded);
}

FlagRow positive(FlagText text, Member<double> member) {
  return positive_row(std::move(text), member, "a number > 0", kUnbounded);
}

FlagRow fraction(FlagText text, Member<double> member) {
  return real_row(std::move(text), member, "a number in [0, 1)", 1);
}

FlagRow share(FlagText text, Member<double> member) {
  return positive_row(std::move(text), member, "a number in (0, 1]", std::nextafter(1.0, 2.0));
}

std::string with_words(std::string doc, const std::vector<std::string>& words) {
  return fmt::format("{}; one of {}", doc, fmt::join(words, ", "));
}

FlagRow choice(FlagText text, Member<std::string> member, const std::vector<std::string>& choices) {
  text.doc = with_words(std::move(text.doc), choices);
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    check_choice(name, value, choices);
    return value;
  });
}

FlagRow path(FlagText text, Member<std::string> member, const char* what) {
  return row_of(std::move(text), member, [=](const std::string& name, const std::string& value) {
    if (value.empty()) refuse_value(name, what, value);
    return value;
  });
}

FlagRow period(FlagText text, Member<Period> member, Period::Unit plain) {
  return row_of(
      std::move(text), member,
      [=](const std::string& name, const std::string& value) { return parse_period(name, value, plain); },
      [=](const Period& period) { return period.text(plain); });
}

FlagRow toggle(FlagText text, Member<bool> member) {
  return row_of(std::move(text), member, [](const std::string&, const std::string&) { return true; });
}

FlagRow stop_at(Member<StopAt> member) {
  return row_of(
      {"--stop-at", "WHEN",
       "end the run before its schedule ends, which stays as --epochs says: 500st after 500 steps, 30ep after "
       "30 epochs, 8.5% at the first evaluation of at most that error"},
      member, [](const std::string& name, const std::string& value) {
        if (value.empty()) refuse_value(name, "500st, 30ep or 8.5%", value);
        return parse_stop_at(value);
      });
}

FlagRow target(Member<std::optional<TargetFigure>> member) {
  return row_of({"--target", "METRIC=X",
                 "end the run at the first evaluation in its course by which a metric is better than X, not as good: "
                 "error=0.03, error=3%, loss=0.1, ema_loss=0.1 of the averaged parameters; none"},
                member, [](const std::string& name, const std::string& value) {
                  return value == "none" ? std::nullopt : std::optional(parse_target(name, value));
                });
}

FlagRow minibatch_schedule(Member<std::vector<Growth>> member) {
  return row_of(
      {"--minibatch-schedule", "WHEN:xF[:RULE]",
       "let the minibatch grow: 30ep:x5,60ep:x5 has five times as many workers, of as many samples, from the begin of "
       "epoch 30 on, and again from 60 on; 2000st:x2 and 50ks:x2 begin after 2000 steps and 50,000 samples. The "
       "learning rate stays that of the schedule; :sqrt or :linear behind a growth multiplies it by sqrt(F) or F, "
       ":rateF by F, and :again or :warm0.5ep lets the schedule begin anew, without or with a warmup. 18ep:long4 "
       "computes samples of sequences in 4 pieces, each by itself, until epoch 18"},
      member, parse_growths, growths_text);
}

FlagRow bucket_lengths(Member<std::vector<int64_t>> member) {
  return row_of(
      {"--bucket", "L,L",
       "rising lengths to which samples are padded, in place of those that --buckets chooses; training samples that "
       "are longer than the last are left out. inspect, bench and scale take the last one"},
      member, [](const std::string& name, const std::string& value) {
        std::vector<int64_t> lengths;
        for (const std::string& word : comma_separated(value)) {
          const int64_t least = lengths.empty() ? 1 : lengths.back() + 1;
          lengths.push_back(
              parse_whole(name, word, fmt::format("rising whole numbers, here >= {}", least), least, kWholeBelow));
        }
        return lengths;
      });
}

FlagRow rounds_begin(Member<std::optional<Period>> member) {
  return row_of({"--from", "WHEN",
                 "begin with replicas after 500st (steps) or 4ep (epochs), and sum gradients in every step before; "
                 "none"},
                member, [](const std::string& name, const std::string& value) {
                  return value == "none" ? std::nullopt : std::optional(parse_duration(name, value));
                });
}

FlagRow log_layers(Member<std::optional<Period>> member) {
  return row_of(
      {"--log-layers", "EVERY",
       "write the norms of every layer's weights and gradient and its trust ratio into metrics.jsonl, each 50st "
       "(steps) or 1ep (epochs), draw them into layers.svg at the end, and give TensorBoard histograms of both; the "
       "same bits"},
      member, parse_duration);
}

}  // namespace kb
