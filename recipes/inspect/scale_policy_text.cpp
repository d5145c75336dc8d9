#include "recipes/inspect/scale_policy_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace kb {
namespace {

[[noreturn]] void refuse(const std::string& flag, const std::string& expected, const std::string& got,
                         const std::string& hint) {
  throw UsageError(fmt::format("{}: expected {}, got {}\n  hint:     {}", flag, expected, got, hint));
}

void check_local(const Synchronising& sync) {
  if (sync.replicas != 1)
    refuse("--replicas", "none, since the replicas of a forecast are nodes", fmt::to_string(sync.replicas),
           "--node G, the workers of a replica");
  if (sync.from)
    refuse("--from", "none, since a forecast is of the steps with replicas", sync.from->text(),
           "--policy sync forecasts the steps before");
  if (sync.slots == LocalSlots::mean)
    refuse("--local-slots", "keep or zero, whose joins send the parameters alone", "mean", "--local-slots keep");
}

// Checks the times of gradients; their distribution makes no difference to the means of `async`.
void check_times(const Synchronising& sync) {
  if (!sync.order.empty())
    refuse("--order", "none, since a forecast makes no order", sync.order, "--times constant or exponential");
  if (sync.times != kConstantTimes && sync.times != kExponentialTimes)
    refuse("--times", "constant or exponential, whose mean steps have closed forms", sync.times, "--times exponential");
  if (sync.late == LateGradients::finish)
    refuse("--late", "abandon, whose mean step has a closed form", "finish", "--late abandon");
}

std::string table_of(const ScaleLine& line, const ScaleLine& beside, const std::string& flags, bool is_backup) {
  std::string text = fmt::format("{}, {}\n{:>7} {:>9} {:>10} {:>10} {:>10} {:>9} {:>8} {:>8} {:>8}\n", flags,
                                 line.label(), "workers", "kn", "step ms", "samples/s", "efficiency",
                                 is_backup ? "of none" : "of sync", "MB sent", "between", "waiting");
  for (const ScaleRow& row : line.rows) {
    const auto same = std::find_if(beside.rows.begin(), beside.rows.end(),
                                   [&](const ScaleRow& other) { return other.workers == row.workers; });
    ensure(same != beside.rows.end(), "policy_tables: a row that has none beside it");
    text += fmt::format("{:>7} {:>9.0f} {:>10.2f} {:>10.0f} {:>9.1f}% {:>8.1f}% {:>8.4g} {:>8.4g} {:>7.1f}%\n",
                        row.workers, row.minibatch, 1e3 * row.step, row.rate, 100 * row.efficiency,
                        100 * row.rate / same->rate, 1e-6 * row.sent, 1e-6 * row.sent_between, 100 * row.waiting());
  }
  return text;
}

// Returns what a row is, which differs among policies.
std::string columns_text(const Synchronising& sync) {
  if (sync.policy == Policy::local)
    return "step: mean over a round; MB sent: by the first process of a node in such a step,\n"
           "between: to other nodes; of sync: samples/s over those of --policy sync; waiting: share\n"
           "of a step in which computation waits for the network\n";
  if (sync.policy == Policy::async)
    return "step: a gradient of each process but the server; MB sent: by the server in such a step,\n"
           "between: to other nodes; of sync: samples/s over those of --policy sync; waiting: share\n"
           "of the time in which a worker waits for messages and for the server's port\n";
  return "step: until all gradients but those of the backups are there, and their sum; MB sent: by\n"
         "the first process of a node, between: to other nodes; of none: samples/s over those of\n"
         "--backups 0; waiting: share of a step in which all wait for the network\n";
}

}  // namespace

void check_scale_policy(const Synchronising& sync) {
  if (sync.policy == Policy::stale)
    refuse("--policy", "sync, local, async or backup", "stale, whose waits for the bound have no closed form",
           "--policy async, which no bound holds up");
  if (sync.policy == Policy::local) check_local(sync);
  if (sync.is_ordered()) check_times(sync);
}

std::string policy_flags(const Synchronising& sync) {
  if (sync.policy == Policy::local) return fmt::format("--policy local --every {}", sync.every);
  if (sync.policy == Policy::backup)
    return fmt::format("--policy backup --backups {} --times {}", sync.backups, sync.times);
  return sync.policy == Policy::sync ? kSynchronous : "--policy async";
}

std::string policy_tables(const PolicyLines& lines, const Synchronising& sync) {
  std::string text;
  for (size_t i = 0; i < lines.lines.size(); ++i)
    text += table_of(lines.lines[i], lines.beside.at(i), policy_flags(sync), sync.policy == Policy::backup) + "\n";
  return text + columns_text(sync);
}

}  // namespace kb
