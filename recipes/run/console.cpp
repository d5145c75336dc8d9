#include "recipes/run/console.h"

#include <fmt/format.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "recipes/run/progress_line.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kFileInterval{60};
constexpr int kUsualColumns = 80;

}  // namespace

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
