// How fast a recipe is on many workers: the timed step of one, replayed on a virtual clock over a described cluster.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "runtime/comm/cluster.h"

namespace kb {

// A worker of a cluster. Workers of a node that compute at the same time share its memory and caches, so that a step is
// timed while others compute. They also share its cores if all their threads are more than those: all compute and all
// wait at the same time, so that each has its share of the cores while it computes.
struct ScaleWorker {
  const Schedule* schedule = nullptr;   // the program `final` for several processes
  std::map<int, TimedStep> steps = {};  // times by number of workers that compute at once, 1 always among them
  double samples = 0;                   // number of samples per step
  int threads = 1;
  int cores = 0;               // cores per node; 0: its workers share none
  double parameter_bytes = 0;  // bytes of the parameters that a server sends to a worker

  // Return how many of a node's `workers` compute at the same time, and how many times longer their step takes then.
  int at_a_time(int workers) const;
  double stretch(int workers) const;
};

Overlap forecast(const ScaleWorker& worker, int workers, Algorithm algorithm, const Cluster& cluster);

struct ScaleRow {
  int workers = 1;
  double minibatch = 0;                             // kn, samples per step of all workers
  double step = 0, communication = 0, exposed = 0;  // seconds; the exposed ones are those that compute waits for
  double rate = 0;                                  // samples per second of all workers
  double efficiency = 0, of_node = 0;               // rate per worker relative to one worker alone, and to a full node
  double compute = 0;                               // seconds that a worker computes its samples, without any wait
  double sent = 0, sent_between = 0;                // bytes a step of the first process, and those to other nodes
  double waiting() const { return exposed / step; }
  double seconds_of(double samples) const { return samples / rate; }
};

struct ScaleLine {
  Algorithm algorithm = Algorithm::halving_doubling;
  std::vector<ScaleRow> rows;  // rows for 1, 2, 4, ... workers
  std::string other = "";      // name of what is no all-reduce; empty: `algorithm` is
  std::string label() const { return other.empty() ? std::string(name(algorithm)) : other; }
};
// Adds a share of what the first process sends in the all-reduces of a step.
void add_sent(ScaleRow& row, const Overlap& step, Algorithm algorithm, int workers, const Cluster& cluster,
              double share = 1);
ScaleLine scale_line(const ScaleWorker& worker, Algorithm algorithm, const Cluster& cluster, int most_workers);

// Returns "90.5 s", "12.3 min", "6.1 h" or "9.2 days".
std::string duration_text(double seconds);

inline constexpr int64_t kPaperEpochs = 90;  // number of epochs in Goyal et al. 2017

// Returns the table of one algorithm. `epoch`: its number of samples. The last columns are the times of 90 epochs and
// of `epochs`.
std::string scale_table(const ScaleLine& line, double epoch, int64_t epochs);

inline constexpr const char* kSynchronous = "--policy sync";

// Texts above the picture.
struct ScaleWords {
  std::string title, worker, nodes;
  std::string policy = kSynchronous;  // flags, for the JSON alone
};
// Returns an SVG of charts over the number of workers: images/s, efficiency, the communication of a step with the part
// of it that compute waits for, and the time of 90 epochs.
std::string scale_picture(const std::vector<ScaleLine>& lines, double epoch, const ScaleWords& words);

// Returns the forecast as JSON, for programs and for `study --cluster`: {"title", "worker", "nodes", "policy": flags,
// "epoch": samples, "forecasts": [{"algorithm", "rows": [{"workers", "minibatch", "step_s", "compute_s",
// "communication_s", "exposed_s", "waiting", "samples_per_s", "efficiency", "sent_bytes", "sent_between_bytes"}]}]}
std::string scale_json(const std::vector<ScaleLine>& lines, int64_t epoch, const ScaleWords& words);

// A forecast that was read: for each number of workers the row of the algorithm whose step takes least.
struct ScaleForecast {
  std::string title, nodes, policy;
  std::vector<ScaleRow> rows;  // rows by ascending number of workers, 1 first; their `of_node` and bytes are not set
};
// Reads what scale_json() wrote. Throws Error, which names `file`, for any other text.
ScaleForecast parse_scale_json(const std::string& text, const std::string& file);

}  // namespace kb
