// Prints the output of a run: lines, and one line of progress, which on a terminal is rewritten in place within its
// width and elsewhere is printed once a minute. With --quiet nothing is printed. If a line cannot be written it is lost
// and standard error says so once, because a run goes on when its terminal is closed or the disk with its log is full.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "recipes/train/evaluation.h"

namespace kb {

constexpr int kUnlimited = 0;

// Returns a line of at most `columns` characters: a bar, the share done, the time left, epoch of how many, loss, best
// figure, speed, and then as much of step, learning rate and data wait as fits. With kUnlimited it has all but the bar.
std::string progress_line(const Progress& progress, int columns);

// Returns "45 s", "12:05" (minutes and seconds), "3 h 25 min" or "2 d 3 h".
std::string time_left_text(double seconds);

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
