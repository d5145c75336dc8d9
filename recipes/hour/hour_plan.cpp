#include "recipes/hour/hour_plan.h"

#include <fmt/format.h>

#include <cmath>

namespace kb {
namespace {

constexpr int64_t kBaseMinibatch = 32;
constexpr double kBaseRate = 0.025;
constexpr double kLarsTrust = 0.001;   // trust coefficient of You et al. 2017
constexpr double kLarsSkipRate = 0.1;  // rate of biases and norms, which layer-wise rates leave alone

// Search ranges of the rates of both optimizers at kn 4096, each a factor of 128 wide around rates that train. SGD on
// Fashion-MNIST was best with rates from 0.03 to 0.1 and diverged with 0.8, far below the linear rule's 3.2. Warmups
// are searched up to half of the training. A tenth of the training samples is held out.
constexpr const char *kSgdRates = "lr=0.00625:0.8:log", *kLarsRates = "lr=1:128:log", *kHourHeldOut = "6000";

struct PaperError {
  const char *percent, *source;
};

class Arms {
 public:
  explicit Arms(int64_t epochs)
      : half_(static_cast<double>(epochs) / 2),
        shared_({"--norm", "batch", "--epochs", fmt::format("{}", epochs), "--per-worker", "32", "--weight-decay",
                 "0.0001", "--schedule", "step", "--milestones",
                 fmt::format("{:.5g},{:.5g},{:.5g}", static_cast<double>(epochs) / 3,
                             static_cast<double>(epochs) * 2 / 3, static_cast<double>(epochs) * 8 / 9)}) {}

  // Returns an arm with a rate by the linear scaling rule from kn = 32 (section 2.1). `warmup`: none, constant or
  // gradual (section 2.2).
  HourArm by_the_rule(int64_t minibatch, const std::string& warmup, std::string paper, PaperError error) const {
    const double times = static_cast<double>(minibatch) / kBaseMinibatch;
    HourArm arm = start_of(minibatch, std::move(paper), error);
    arm.rate = times == 1 ? fmt::format("{:g}", kBaseRate)
                          : fmt::format("{:g} = {:g} x {:g}", kBaseRate * times, kBaseRate, times);
    arm.start = times == 1 ? "baseline" : warmup == "none" ? "no warmup" : warmup + " warmup";
    arm.name = times == 1 ? "kn32" : fmt::format("kn{}-{}", minibatch, warmup == "none" ? "no-warmup" : warmup);
    add(arm, {"--optimizer", "nesterov", "--base-lr", number(kBaseRate), "--base-minibatch", "32", "--warmup", warmup});
    if (warmup != "none") add(arm, {"--warmup-epochs", "1"});
    return arm;
  }

  // Returns an arm with a given rate and without warmup. `start`: says where the rate comes from.
  HourArm at_rate(int64_t minibatch, double rate, const std::string& name, std::string start, std::string paper,
                  PaperError error) const {
    HourArm arm = start_of(minibatch, std::move(paper), error);
    arm.rate = number(rate);
    arm.start = std::move(start);
    arm.name = fmt::format("kn{}-{}", minibatch, name);
    add(arm, {"--optimizer", "nesterov", "--lr", number(rate), "--warmup", "none"});
    return arm;
  }

  // Returns an arm whose rate and warmup are searched. `optimizer`: "SGD", as tables name it; `words`: the flags that
  // choose it.
  HourArm searched(int64_t minibatch, const std::string& name, std::string optimizer,
                   const std::vector<std::string>& words, const char* rates, std::string paper,
                   PaperError error) const {
    HourArm arm = start_of(minibatch, std::move(paper), error);
    arm.start = std::move(optimizer);
    arm.name = fmt::format("kn{}-{}", minibatch, name);
    add(arm, words);
    add(arm, {"--warmup", "gradual", "--validation", kHourHeldOut});
    arm.search = {parse_search(rates), parse_search(fmt::format("warmup-epochs=0:{:g}", half_))};
    return arm;
  }

 private:
  static std::string number(double value) { return fmt::format("{:g}", value); }
  static void add(HourArm& arm, const std::vector<std::string>& words) {
    arm.words.insert(arm.words.end(), words.begin(), words.end());
  }
  HourArm start_of(int64_t minibatch, std::string paper, PaperError error) const {
    HourArm arm;
    arm.minibatch = minibatch;
    arm.words = {"--minibatch", fmt::format("{}", minibatch)};
    add(arm, shared_);
    arm.paper = std::move(paper);
    arm.paper_error = error.percent;
    arm.source = error.source;
    return arm;
  }

  const double half_;  // half of the epochs
  const std::vector<std::string> shared_;
};

}  // namespace

// Figures of the papers: Goyal et al. 2017, tables 1 and 2a and figure 1, validation error of ResNet-50 on ImageNet;
// You et al. 2017, tables of AlexNet, 100 % less the accuracy.
std::vector<HourArm> hour_arms(HourPlan plan, int64_t epochs) {
  const Arms make(epochs);
  const HourArm baseline = make.by_the_rule(32, "gradual", "kn 256, rate 0.1", {"23.60 +- 0.12", "table 1"});
  if (plan == HourPlan::brief)
    return {
        baseline, make.by_the_rule(256, "gradual", "kn 2k, gradual warmup", {"23.49 +- 0.11", "figure 1"}),
        make.at_rate(256, kBaseRate, "fixed", "the rate of kn 32", "kn 8k, rate 0.1", {"41.67 +- 0.10", "table 2a"})};
  return {baseline,
          make.by_the_rule(256, "gradual", "kn 2k, gradual warmup", {"23.49 +- 0.11", "figure 1"}),
          make.at_rate(512, kBaseRate, "fixed", "the rate of kn 32", "kn 8k, rate 0.1", {"41.67 +- 0.10", "table 2a"}),
          make.by_the_rule(512, "none", "kn 8k, no warmup", {"24.84 +- 0.37", "table 1"}),
          make.by_the_rule(512, "constant", "kn 8k, constant warmup", {"25.88 +- 0.56", "table 1"}),
          make.by_the_rule(512, "gradual", "kn 8k, gradual warmup", {"23.74 +- 0.09", "table 1"}),
          make.by_the_rule(1024, "gradual", "kn 64k, gradual warmup", {"33.96 +- 0.80", "figure 1"}),
          make.searched(4096, "sgd", "SGD", {"--optimizer", "nesterov"}, kSgdRates, "kn 4k, AlexNet, SGD",
                        {"46.9", "You et al., best rate"}),
          make.searched(4096, "lars", "LARS",
                        {"--optimizer", "lars", "--trust", fmt::format("{:g}", kLarsTrust), "--skip-lr",
                         fmt::format("{:g}", kLarsSkipRate)},
                        kLarsRates, "kn 4k, AlexNet, LARS", {"41.5", "You et al."})};
}

std::vector<HourTrial> trials_of_search(const HourArm& arm) {
  std::vector<HourTrial> trials;
  if (arm.search.empty()) return trials;
  for (int64_t number = 0; number < kHourTrials; ++number) {
    const std::vector<double> point = halton_point(number, arm.search.size(), 0);
    HourTrial trial{fmt::format("{}-t{:02}", arm.name, number), {}, arm.words};
    for (size_t d = 0; d < arm.search.size(); ++d) {
      const std::string value = value_at(arm.search[d], point[d], 1);
      trial.values[arm.search[d].flag] = value;
      trial.words.insert(trial.words.end(), {"--" + arm.search[d].flag, value});
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

HourChoice choice_of(const HourArm& arm, const std::map<std::string, RunReport>& runs) {
  HourChoice choice;
  for (const HourTrial& trial : trials_of_search(arm)) {
    const auto at = runs.find(trial.name);
    if (at == runs.end()) continue;
    ++choice.done;
    const RunReport& run = at->second;
    choice.diverged += run.diverged;
    if (run.diverged || run.evaluations.empty()) continue;
    const double error = run.evaluations.back().goal;
    if (!std::isfinite(error) || (choice.best && error >= choice.error)) continue;
    choice.best = trial;
    choice.error = error;
  }
  return choice;
}

HourArm at_trial(HourArm arm, const HourTrial& trial) {
  arm.words = trial.words;
  arm.rate = trial.values.at("lr");
  arm.start += fmt::format(", gradual warmup of {} epochs", trial.values.at("warmup-epochs"));
  arm.search.clear();
  return arm;
}

std::string choice_text(const HourArm& arm, const HourChoice& choice) {
  std::string text = fmt::format("{}: {} trials of", arm.name, choice.done);
  for (const SearchRange& range : arm.search) text += " " + range.text();
  text += fmt::format(", {} diverged", choice.diverged);
  if (!choice.best) return text + "; none ended";
  for (const auto& [flag, value] : choice.best->values) text += fmt::format(", {} {}", flag, value);
  return text + fmt::format(": {:.2f} % held out", 100 * choice.error);
}

}  // namespace kb
