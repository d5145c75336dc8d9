#include "runtime/file_error.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <system_error>

namespace kb {
namespace {

std::string amount(uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

// Returns the text of errno. The system's text for 0 would be "Success", so 0 has its own.
std::string reason_text(int error_number) {
  return error_number == 0 ? "the system gives no reason" : std::generic_category().message(error_number);
}

// Returns how much room is free and how much is needed, if the error is that of a full disk; else "".
std::string room_text(const std::filesystem::path& path, int error_number, int64_t bytes) {
  std::string room;
  struct statvfs disk;
  struct rlimit limit;
  if ((error_number == ENOSPC || error_number == EDQUOT) &&
      ::statvfs(path.has_parent_path() ? path.parent_path().c_str() : ".", &disk) == 0)
    room = amount(uint64_t{disk.f_bavail} * disk.f_frsize) + " are free";
  else if (error_number == EFBIG && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    room = fmt::format("the limit on a file (ulimit -f) is {}", amount(limit.rlim_cur));
  if (room.empty()) return "";
  return bytes == 0 ? "; " + room : fmt::format("; {} are needed, {}", amount(static_cast<uint64_t>(bytes)), room);
}

}  // namespace

void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number, int64_t bytes) {
  throw FileError(fmt::format("cannot {} {}: {}{}", action, path.string(), reason_text(error_number),
                              room_text(path, error_number, bytes)));
}

void make_folder(const std::filesystem::path& folder, std::string_view who) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(fmt::format("{}cannot make the folder {}: {}", who, folder.string(), error.message()));
}

}  // namespace kb
