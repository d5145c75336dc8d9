#include "recipes/papers/mlperf_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "data/images/image_set.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/reference_check.h"

namespace kb {
namespace {

// Values for rows of which our sources do not give the setting. The rules allow weight decays of 1e-4 x 2^N.
constexpr double kUsualDecay = 1e-4, kUsualMomentum = 0.9;
constexpr const char* kNoSmoothing = "label smoothing (0)";  // the rules since v0.7 allow 0.1, too

enum class Method : uint8_t { step_sgd, polynomial_sgd, lars };

// Settings of one log. A member is nullopt if our sources do not give it.
struct LogRow {
  int64_t minibatch;
  Method method;
  double rate, warmup_epochs;
  int64_t epochs;  // most epochs that the logs took to the target; for step_sgd a value of ours
  std::optional<double> momentum = std::nullopt, weight_decay = std::nullopt, epsilon = std::nullopt;
};

constexpr int64_t kDropsMinibatch = 1664;  // only in this row of v0.5 the drops at epochs 30, 60, 80 are confirmed
constexpr std::nullopt_t kNone = std::nullopt;
constexpr LogRow kRound05[] = {{kDropsMinibatch, Method::step_sgd, 0.6, 5, 90, 0.9},
                               {4096, Method::step_sgd, 1.8, 8, 90},
                               {16640, Method::step_sgd, 4.1, 15, 90}};
constexpr LogRow kRound06[] = {{1664, Method::lars, 5, 5, 60, kNone, 2e-4},
                               {4096, Method::lars, 10, 5, 64, kNone, kNone, 1e-5},
                               {16384, Method::lars, 25, 5, 68, kNone, kNone, 1e-5},
                               {32768, Method::lars, 31.2, 25, 76, kNone, 1e-4, 1e-5},
                               {54080, Method::lars, 38, 25, 86},
                               {59904, Method::lars, 40.7, 33, 90},
                               {86016, Method::lars, 13, 36, 90, kNone, 5e-5, 1e-9}};
constexpr LogRow kRound07[] = {
    {832, Method::polynomial_sgd, 3, 3, 40, 0.9},      {1664, Method::lars, 7.4, 2, 37, kNone, 1e-4},
    {3264, Method::polynomial_sgd, 6, 5, 41},          {3328, Method::polynomial_sgd, 3.1, 6, 41, 0.95},
    {34560, Method::lars, 21.6, 17, 59, 0.94, 2.5e-5}, {65536, Method::lars, 23.08, 33, 92, 0.9537}};

struct Round {
  const char* name;
  std::span<const LogRow> rows;
  double target;  // top-1 accuracy in per cent
};
constexpr Round kRounds[] = {{"v0.5", kRound05, 74.9}, {"v0.6", kRound06, 75.9}, {"v0.7", kRound07, 75.9}};

// Flags of the reference's schedule: a warmup from 0, then a polynomial of power 2 to the rate 1e-4.
const std::vector<std::string> kReferenceSchedule = {"--schedule", "mlperf", "--power", "2", "--end-lr", "1e-4"};

// Returns a note that names the settings of the row that our sources do not give, with the values that stand in.
std::string stand_ins(const LogRow& row) {
  std::vector<std::string> words;
  if (!row.weight_decay) words.push_back(fmt::format("weight decay ({})", kUsualDecay));
  if (!row.momentum) words.push_back(fmt::format("momentum ({})", kUsualMomentum));
  if (row.method != Method::step_sgd)
    words.push_back(fmt::format("length of the schedule ({} epochs, what its logs took to the target)", row.epochs));
  else
    words.push_back(fmt::format("length of the schedule ({} epochs)", row.epochs));
  if (row.method == Method::step_sgd && row.minibatch != kDropsMinibatch)
    words.push_back(fmt::format("drops of the rate (at epochs 30, 60 and 80, as at kn {})", kDropsMinibatch));
  words.emplace_back(kNoSmoothing);
  return fmt::format("not confirmed in a source: the row's {}; what stands in is in brackets", fmt::join(words, ", "));
}

Preset of_log(const Round& round, int64_t minibatch) {
  const LogRow& row = row_of(round.rows, minibatch);
  Preset preset{flags_of({row.method == Method::lars ? "lars-mlperf" : "momentum", row.rate, row.warmup_epochs,
                          row.epochs, row.momentum.value_or(kUsualMomentum), row.weight_decay.value_or(kUsualDecay)})};
  if (row.epsilon) append_flags(preset, {"--epsilon", fmt::format("{}", *row.epsilon)});
  if (row.method == Method::step_sgd)
    append_flags(preset, {"--schedule", "step", "--milestones", "30,60,80"});
  else
    append_flags(preset, kReferenceSchedule);
  preset.notes = {
      fmt::format("MLPerf {}, {}; target {} % top-1", round.name, row_words(row.minibatch, minibatch), round.target),
      stand_ins(row)};
  return preset;
}

// Returns the epochs of the whole run. The point's decay_steps are the steps after the warmup, plus 1, which at its
// minibatch make up whole epochs.
int64_t epochs_of(const ReferencePoint& point) {
  const double decay =
      static_cast<double>(point.decay_steps * point.minibatch) / static_cast<double>(kImageNetTrainCount);
  return std::llround(decay + point.warmup_epochs);
}

Preset of_reference(int64_t minibatch) {
  const ReferencePoint& point = row_of(reference_points(), minibatch);
  Preset preset{
      flags_of({"lars-mlperf", point.rate, point.warmup_epochs, epochs_of(point), point.momentum, point.weight_decay})};
  append_flags(preset, kReferenceSchedule);
  preset.notes.push_back(fmt::format("MLPerf reference convergence points, {}; target {} % top-1",
                                     row_words(point.minibatch, minibatch), kReferenceTarget));
  preset.notes.push_back(fmt::format("not confirmed in a source: the row's {}", kNoSmoothing));
  if (minibatch % point.norm_span == 0)
    append_flags(preset, {"--per-worker", fmt::format("{}", point.norm_span)});
  else
    preset.notes.push_back(
        fmt::format("the row's batch norm spans {} samples, which do not divide kn {}: --per-worker says its n",
                    point.norm_span, minibatch));
  return preset;
}

}  // namespace

Preset mlperf_preset(const std::string& round, int64_t minibatch) {
  const Round* found =
      std::find_if(std::begin(kRounds), std::end(kRounds), [&](const Round& r) { return r.name == round; });
  return found == std::end(kRounds) ? of_reference(minibatch) : of_log(*found, minibatch);
}

}  // namespace kb
