// Output of a run on standard output: lines, and one line of progress that is rewritten in place on a terminal and
// printed now and then elsewhere. Silent with --quiet. A line that cannot be written is lost, which is told once on
// standard error: a run goes on when its terminal is closed or the disk under its log is full.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace kb {

class Console {
 public:
  explicit Console(bool quiet, bool may_rewrite = true);  // a launcher makes a terminal of everything
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(std::string_view text);

  // True when it is time to show progress again; so that nobody formats text for nothing.
  bool wants_progress();
  void progress(std::string_view text);

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
