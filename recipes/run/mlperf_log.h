// MLPerf's log of a run (--mllog): a line an event, ":::MLLOG {...}", as the compliance checker of mlcommons/logging
// reads it. The submission's own words stand for none: organisation "kilobatch", division open, status research.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>

#include "optim/batch_plan.h"
#include "recipes/config/plan.h"
#include "recipes/train/observer.h"

namespace kb {

struct MlperfFacts {
  std::string recipe, platform;
  RunConfig config;
  RunPlan plan;
  BatchPlan batch;
  double peak_rate = 0;  // learning rate behind the warmup
  int64_t eval_samples = 0;
};

class MlperfLog {
 public:
  MlperfLog() = default;  // writes nothing
  // Logs the start of the program and the settings. The file is that of facts.config.mllog, "-" standard output; it is
  // there whole after every evaluation. Throws Error where it cannot be written.
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
  void write() const;

  MlperfFacts facts_;
  bool is_on_ = false, is_reached_ = false;
  int64_t block_ = 0;    // the first epoch of the block that is open; 0: none is
  int64_t time_ms_ = 0;  // of the lines to come, since 1970; 0: now
  std::string text_;
};

// Throws Error where the file of --mllog is there already.
void check_mlperf_file(const RunConfig& config);

}  // namespace kb
