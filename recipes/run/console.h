// Output of a run on standard output: lines, and one line of progress that is rewritten in place on a terminal, within
// its width, and printed once a minute elsewhere. Silent with --quiet. A line that cannot be written is lost, which is
// told once on standard error: a run goes on when its terminal is closed or the disk under its log is full.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "recipes/train/progress.h"

namespace kb {

// Columns of the terminal at standard output that may be written without a line break: some terminals break behind the
// last one. `elsewhere` where there is no terminal.
int usable_columns(int elsewhere);

class Console {
 public:
  explicit Console(bool quiet, bool may_rewrite = true);  // a launcher makes a terminal of everything
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(std::string_view text);

  // True when it is time to show progress again; so that nobody gathers it for nothing.
  bool wants_progress();
  void progress(const Progress& progress);
  // Likewise, with a text that is cut where the terminal ends.
  void status(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();
  void flush();

  bool quiet_, terminal_;
  bool open_ = false;            // a progress line stands on the terminal
  bool has_complained_ = false;  // that standard output cannot be written
  Clock::time_point shown_;
};

}  // namespace kb
