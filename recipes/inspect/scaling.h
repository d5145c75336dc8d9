// How fast a recipe is on many workers: the timed step of one, replayed on a virtual clock over a described cluster.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/perf/step_profiles.h"
#include "runtime/comm/cluster.h"

namespace kb {

// One worker of several. A node's workers that compute at the same time share its memory and caches, so a step is
// timed beside others; and its cores, where there are fewer of them than the workers have threads: all compute at the
// same time and wait at the same time, so that each has its share of the cores while it computes.
struct ScaleWorker {
  const Schedule* schedule = nullptr;   // `final`, as one of several processes runs it
  std::map<int, TimedStep> steps = {};  // by how many workers compute at a time; that of 1 is there
  double samples = 0;                   // of a step
  int threads = 1;
  int cores = 0;  // of a node; 0: its workers share none

  // How many of a node's `workers` compute at a time, and how much longer than its own time a step takes each.
  int at_a_time(int workers) const;
  double stretch(int workers) const;
};

Overlap forecast(const ScaleWorker& worker, int workers, Algorithm algorithm, const Cluster& cluster);

struct ScaleRow {
  int workers = 1;
  double minibatch = 0;                             // kn
  double step = 0, communication = 0, exposed = 0;  // seconds
  double rate = 0;                                  // samples a second, of all workers
  double efficiency = 0, of_node = 0;               // the rate of a worker over that of one alone, of one full node
  double seconds_of(double samples) const { return samples / rate; }
};

struct ScaleLine {
  Algorithm algorithm = Algorithm::halving_doubling;
  std::vector<ScaleRow> rows;  // 1, 2, 4, ... workers
};
ScaleLine scale_line(const ScaleWorker& worker, Algorithm algorithm, const Cluster& cluster, int most_workers);

// "90.5 s", "12.3 min", "6.1 h", "9.2 days".
std::string duration_text(double seconds);

inline constexpr int64_t kPaperEpochs = 90;  // Goyal et al. 2017

// `epoch`: its samples; the last columns are the times of 90 epochs, and of `epochs`.
std::string scale_table(const ScaleLine& line, double epoch, int64_t epochs);

// As SVG: images/s, efficiency, the communication of a step with the part of it that compute waits for, and the time of
// 90 epochs, against workers.
struct ScaleWords {
  std::string title, worker, nodes;
};
std::string scale_picture(const std::vector<ScaleLine>& lines, double epoch, const ScaleWords& words);

}  // namespace kb
