// Prints the output of a run: lines, and one line of progress, which on a terminal is rewritten in place within its
// width and elsewhere is printed once a minute. With --quiet nothing is printed. If a line cannot be written it is lost
// and standard error says so once, because a run goes on when its terminal is closed or the disk with its log is full.
#pragma once
#include <chrono>
#include <string_view>

#include "recipes/train/progress.h"

namespace kb {

// Returns how many columns of the terminal at standard output can be written without a line break: all but one, since
// some terminals break after the last one. Returns `elsewhere` if there is no terminal.
int usable_columns(int elsewhere);

class Console {
 public:
  explicit Console(bool quiet, bool may_rewrite = true);  // `may_rewrite`: false if a launcher poses as the terminal
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(std::string_view text);

  // Returns whether it is time to show progress again, so that callers need not gather it before.
  bool wants_progress();
  void progress(const Progress& progress);
  // Shows a text as the line of progress, cut at the width of the terminal.
  void status(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();
  void flush();

  bool quiet_, terminal_;
  bool open_ = false;            // whether a line of progress stands on the terminal
  bool has_complained_ = false;  // whether standard error has said that standard output cannot be written
  Clock::time_point shown_;
};

}  // namespace kb
