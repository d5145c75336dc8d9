// Writes MLPerf's log of a run (--mllog): one line per event, ":::MLLOG {...}", as the compliance checker of
// mlcommons/logging reads it. The log is no submission, so these fields are constant: organisation "kilobatch",
// division "open", status "research".
#pragma once
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "optim/batch_plan.h"
#include "optim/schedule.h"
#include "recipes/config/plan.h"
#include "recipes/config/run_config.h"
#include "recipes/train/observer.h"

namespace kb {

struct MlperfFacts {
  std::string benchmark, platform;
  RunConfig config;
  RunPlan plan;
  BatchPlan batch;
  ScheduleSpec schedule;
  int64_t eval_samples = 0;
  bool goes_on = false;  // whether the run goes on, and may have written to the file before
};

class MlperfLog {
 public:
  MlperfLog() = default;  // writes nothing
  // Logs the start of the program and the settings. The file is that of facts.config.out.mllog; "-" is standard output.
  // The file is written as a whole after every evaluation and at the end; a run that goes on appends to the lines in
  // it. Throws Error if the file cannot be read or written.
  explicit MlperfLog(MlperfFacts facts);

  // Logs events. Epochs are counted from the start of the run; the log's numbers of epochs begin at 1.
  void run_begins(int64_t steps);  // `steps`: number of steps done before
  void evaluation_begins(double epoch);
  void evaluated(const EvaluationReport& report);
  // Logs the end. The status is success if the run came to its end and reached its goal, if it has one (--stop-at
  // 24.1%).
  void run_ends(bool finished);

 private:
  using Place = std::source_location;
  // Logs a line. `value`: JSON; `more`: JSON to append to the metadata after file and line, such as `"epoch_num": 4`.
  void line(const char* type, const char* key, const std::string& value, const std::string& more = "",
            Place place = Place::current());
  void start(const char* key, const std::string& more = "", Place place = Place::current());
  void stop(const char* key, const std::string& more = "", Place place = Place::current());
  void event(const char* key, const std::string& value, const std::string& more = "", Place place = Place::current());
  void settings();
  void optimizer_settings();
  void begin_block(int64_t steps);
  void end_block();
  void end_evaluation();
  void write() const;

  MlperfFacts facts_;
  bool is_on_ = false, is_reached_ = false;
  int64_t block_ = 0;                 // first epoch of the open block; 0: none is open
  std::optional<double> evaluation_;  // epochs done at the evaluation that is under way
  int64_t time_ms_ = 0;               // milliseconds since 1970, for the next lines; 0: now
  std::string text_;
};

// Throws Error if a run cannot write the file of --mllog: its folder does not exist, a new run finds the file there
// already, or a run that goes on finds other text in it than such a log. AdaScale is refused, too: the log has no key
// for its gains.
void check_mlperf_file(const RunConfig& config, bool goes_on);

}  // namespace kb
