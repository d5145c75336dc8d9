// Forecasts of training whose workers do not sum their gradients in every step (--policy): replicas that are joined now
// and then, a server of parameters, and backup workers. Replicas are nodes. The first row of a forecast is one process
// alone, which sends nothing.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/synchronising.h"
#include "recipes/inspect/scaling.h"

namespace kb {

// Distributions of a gradient's time whose mean steps with backups have closed forms (--times).
inline constexpr const char* kConstantTimes = "constant";
inline constexpr const char* kExponentialTimes = "exponential";

// Returns a step of local SGD (Lin et al. 2020, arXiv 1808.07217, algorithm 2), the mean over a round of H steps: the
// workers of a node sum their gradients in each, and the nodes sum their parameters once, in buckets as large as those
// of the gradients. Nothing hides the join. The outer rule takes no time.
ScaleLine local_line(const ScaleWorker& worker, int64_t every, Algorithm algorithm, const Cluster& cluster,
                     int most_workers);

// Returns a step of asynchronous SGD (Chen et al. 2016, arXiv 1604.00981, section 2), which is as many gradients as
// there are workers. The first process, the server, computes none; each other one computes a gradient of n bytes, sends
// it and gets parameters of m bytes. On each network the server has a port in and a port out, so that w workers have
// min(w / (compute + 2 latency + (n + m) / bandwidth), bandwidth / max(n, m)) gradients applied a second. An update
// takes the server no time.
ScaleLine server_line(const ScaleWorker& worker, const Cluster& cluster, int most_workers);

// Returns a step with backup workers (Chen et al. 2016, section 3), whose minibatch is that of all processes but b. It
// takes the mean time of the k-th of k + b gradients, with exponential times (H_{k+b} - H_b) x compute, H the harmonic
// numbers, with constant ones `compute`; then an all-reduce over all processes, which nothing hides. Late gradients are
// abandoned.
ScaleLine backup_line(const ScaleWorker& worker, int64_t backups, bool exponential, Algorithm algorithm,
                      const Cluster& cluster, int most_workers);

// Returns the lines of a policy other than sync. `beside` are those that its rates are held against: synchronous steps,
// and for backups those without any, of the same times.
struct PolicyLines {
  std::vector<ScaleLine> lines, beside;
};
PolicyLines policy_lines(const ScaleWorker& worker, const Synchronising& sync, const Cluster& cluster,
                         int most_workers);

// Throws UsageError, which names the flag, for a policy without a forecast, and for flags that a forecast does not
// know.
void check_scale_policy(const Synchronising& sync);

// Returns the flags on which a forecast depends: "--policy local --every 16".
std::string policy_flags(const Synchronising& sync);

// Returns the tables of all lines, of 88 columns at most, and a sentence on their columns.
std::string policy_tables(const PolicyLines& lines, const Synchronising& sync);

}  // namespace kb
