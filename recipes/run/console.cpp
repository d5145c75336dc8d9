#include "recipes/run/console.h"

#include <fmt/format.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "runtime/standard_streams.h"

namespace kb {
namespace {

constexpr int kLeastBar = 6, kWidestBar = 24;

struct Piece {
  int place;  // position from the left
  std::string text;
  std::string brief = {};  // shorter text, shown if `text` does not fit
};

double share_done(const Progress& p) {
  return p.steps == 0 ? 1 : static_cast<double>(p.step) / static_cast<double>(p.steps);
}

// Returns the pieces in the order of their importance.
std::vector<Piece> pieces(const Progress& p) {
  std::vector<Piece> all = {{1, fmt::format("{:.0f} %", std::floor(100 * share_done(p)))},
                            {2, time_left_text(p.seconds_left) + " left"},
                            {3, fmt::format("epoch {:.1f}/{:g}", p.epoch, std::ceil(p.epochs * 10) / 10)},
                            {5, fmt::format("loss {:.4f}", p.loss)}};
  if (p.best) all.push_back({6, "best " + p.best->text()});
  all.push_back(
      {7, fmt::format("{:.0f} samples/s", p.samples_per_second), fmt::format("{:.0f}/s", p.samples_per_second)});
  all.push_back({4, fmt::format("step {}/{}", p.step, p.steps)});
  all.push_back({8, fmt::format("lr {:.4g}", p.learning_rate)});
  all.push_back({9, fmt::format("data wait {:.1f} ms", p.data_wait_ms)});
  return all;
}

std::string bar(double share, int width) {
  const int done = static_cast<int>(share * width);
  return fmt::format("{:#>{}}{:.>{}}", "", done, "", width - done);
}

std::string joined(std::vector<Piece> shown) {
  std::sort(shown.begin(), shown.end(), [](const Piece& a, const Piece& b) { return a.place < b.place; });
  std::string line;
  for (const Piece& piece : shown) line += (line.empty() ? "" : "  ") + piece.text;
  return line;
}

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kFileInterval{60};
constexpr int kUsualColumns = 80;

}  // namespace

std::string time_left_text(double seconds) {
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400, kLongest = 1000 * kDay;
  const auto s = static_cast<int64_t>(std::min(std::ceil(std::max(seconds, 0.0)), static_cast<double>(kLongest)));
  if (s < kMinute) return fmt::format("{} s", s);
  if (s < kHour) return fmt::format("{}:{:02}", s / kMinute, s % kMinute);
  if (s < kDay) return fmt::format("{} h {} min", s / kHour, s % kHour / kMinute);
  return fmt::format("{} d {} h", s / kDay, s % kDay / kHour);
}

std::string progress_line(const Progress& progress, int columns) {
  std::vector<Piece> shown = pieces(progress);
  if (columns == kUnlimited) return joined(std::move(shown));
  int free = columns;
  std::vector<Piece> fitting;
  bool has_bar = false;
  for (Piece& piece : shown) {
    // The bar gets its least width before the speed and all later pieces get theirs.
    if (piece.place == 7 && free >= kLeastBar + 2) has_bar = true, free -= kLeastBar + 2;
    if (static_cast<int>(piece.text.size()) + 2 > free && !piece.brief.empty()) piece.text = piece.brief;
    if (static_cast<int>(piece.text.size()) + 2 > free) continue;
    free -= static_cast<int>(piece.text.size()) + 2;
    fitting.push_back(std::move(piece));
  }
  free += 2;  // the first piece has no gap before it
  if (has_bar) fitting.push_back({0, bar(share_done(progress), std::min(kLeastBar + free, kWidestBar))});
  return joined(std::move(fitting));
}

int usable_columns(int elsewhere) {
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1 : elsewhere;
}

Console::Console(bool quiet, bool may_rewrite)
    : quiet_(quiet), terminal_(may_rewrite && ::isatty(STDOUT_FILENO) == 1), shown_(Clock::now()) {}

// Ends an open line of progress, so that it stays on the terminal and what comes next begins a line.
Console::~Console() {
  if (!open_) return;
  std::fputc('\n', stdout);
  flush();
}

// Writes out what was printed; discards what could not be written, so that later output begins with an empty buffer.
void Console::flush() {
  const std::string fault = standard_output_fault();
  if (fault.empty()) return;
  std::clearerr(stdout);
  __fpurge(stdout);
  if (!has_complained_) print_error(fmt::format("NOTE: {}; the run goes on without it", fault));
  has_complained_ = true;
}

void Console::clear() {
  if (open_) std::fputs("\r\x1b[K", stdout);
  open_ = false;
}

void Console::line(std::string_view text) {
  if (quiet_) return;
  clear();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  flush();
}

bool Console::wants_progress() {
  if (quiet_) return false;
  Clock::duration interval = terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kFileInterval);
  return Clock::now() - shown_ >= interval;
}

void Console::progress(const Progress& progress) {
  status(progress_line(progress, terminal_ ? usable_columns(kUsualColumns - 1) : kUnlimited));
}

void Console::status(std::string_view text) {
  if (quiet_) return;
  shown_ = Clock::now();
  if (!terminal_) return line(text);
  const std::string_view shown = text.substr(0, static_cast<size_t>(usable_columns(kUsualColumns - 1)));
  clear();
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  flush();
  open_ = true;
}

}  // namespace kb
