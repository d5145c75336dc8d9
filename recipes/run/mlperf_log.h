// MLPerf's log of a run (--mllog): a line an event, ":::MLLOG {...}", as the compliance checker of mlcommons/logging
// reads it. The submission's own words stand for none: organisation "kilobatch", division open, status research.
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
  bool goes_on = false;  // with a run that may have written to the file before
};

class MlperfLog {
 public:
  MlperfLog() = default;  // writes nothing
  // Logs the start of the program and the settings. The file is that of facts.config.out.mllog, "-" standard output; it
  // is there whole after every evaluation, and a run that goes on has its lines behind those that it holds. Throws
  // Error where it cannot be read or written.
  explicit MlperfLog(MlperfFacts facts);

  // Epochs are counted from the start of the run; the log's numbers of epochs begin at 1.
  void run_begins(int64_t steps);  // after so many, of a run that goes on
  void evaluation_begins(double epoch);
  void evaluated(const EvaluationReport& report);
  // Its status is success where the run came to its end and, with an error to stop at (--stop-at 24.1%), reached that.
  void run_ends(bool finished);

 private:
  using Place = std::source_location;
  // `value`: JSON; `more`: of the metadata, behind file and line, such as `"epoch_num": 4`.
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
  int64_t block_ = 0;                 // the first epoch of the block that is open; 0: none is
  std::optional<double> evaluation_;  // the epochs before the evaluation that is under way
  int64_t time_ms_ = 0;               // of the lines to come, since 1970; 0: now
  std::string text_;
};

// Throws Error where a run cannot write the file of --mllog: its folder is not there, a new run finds it there already,
// or one that goes on finds other text in it than such a log.
void check_mlperf_file(const RunConfig& config, bool goes_on);

}  // namespace kb
