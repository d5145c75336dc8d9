#include "recipes/train/rank_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "recipes/train/instruments.h"
#include "runtime/host_name.h"
#include "runtime/median.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

void add_rank(RanksReport& report, const std::string& gathered) {
  std::istringstream words(gathered);
  double compute = 0, wait = 0;
  std::string node;
  words >> compute >> wait >> node;
  report.compute_ms.push_back(compute);
  report.data_wait_ms.push_back(wait);
  report.nodes.push_back(node);
}

// Gathers, at each evaluation of a training on several processes, how long each rank computed for a step and waited for
// data. All ranks' steps take the same time, since they wait for each other: without those waits the slowest is seen.
class RankTimes : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit RankTimes(const LoopParts& parts) : parts_(parts) {}

  void stepped(const ReportedStep& reported) override {
    ++steps_;
    last_ = reported.metrics.step + 1;
    compute_ms_ += reported.metrics.compute_ms;
    data_wait_ms_ += reported.metrics.data_wait_ms;
  }

  // A device computes while its host does something else, so that the host's times say nothing of it.
  void evaluation_begins() override {
    if (steps_ == 0 || parts_.training().lag() > 0) return;
    const auto count = static_cast<double>(std::exchange(steps_, 0));
    const std::string own = fmt::format("{} {} {}", std::exchange(compute_ms_, 0) / count,
                                        std::exchange(data_wait_ms_, 0) / count, host_name());
    RanksReport report{.step = last_};
    for (const std::string& rank : parts_.world.communicator().all_gather(own)) add_rank(report, rank);
    parts_.observer.ranks(report);
    if (const std::string text = slow_rank_text(report); !text.empty()) parts_.observer.note(text);
  }

 private:
  const LoopParts& parts_;
  int64_t steps_ = 0, last_ = 0;
  double compute_ms_ = 0, data_wait_ms_ = 0;
};

}  // namespace

std::string slow_rank_text(const RanksReport& report) {
  const auto slowest = std::max_element(report.compute_ms.begin(), report.compute_ms.end());
  const auto rank = static_cast<size_t>(slowest - report.compute_ms.begin());
  std::vector<double> others = report.compute_ms;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(rank));
  if (others.empty()) return "";
  const double median = median_of(std::move(others));
  if (*slowest <= kSlowRank * median) return "";
  return fmt::format("NOTE: rank {} ({}): {:.2f} x the median of the others; {} ms of a step wait for it", rank,
                     report.nodes[rank], *slowest / median, three_digits(*slowest - median));
}

std::unique_ptr<Instrument> make_rank_times(const LoopParts& parts) { return std::make_unique<RankTimes>(parts); }

}  // namespace kb
