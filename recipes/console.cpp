#include "recipes/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace kb {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kFileInterval{10};

}  // namespace

Console::Console(bool quiet, bool may_rewrite)
    : quiet_(quiet), terminal_(may_rewrite && ::isatty(STDOUT_FILENO) == 1), shown_(Clock::now()) {}

// What stands on the terminal stays, for what comes next begins a line.
Console::~Console() {
  if (!open_) return;
  std::fputc('\n', stdout);
  std::fflush(stdout);
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
  std::fflush(stdout);
}

bool Console::wants_progress() {
  if (quiet_) return false;
  Clock::duration interval = terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kFileInterval);
  return Clock::now() - shown_ >= interval;
}

void Console::progress(std::string_view text) {
  if (quiet_) return;
  shown_ = Clock::now();
  if (!terminal_) return line(text);
  clear();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  open_ = true;
}

}  // namespace kb
