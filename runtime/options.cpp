#include "runtime/options.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "graph/error.h"
#include "runtime/launch.h"

namespace kb {
namespace {

// Returns an environment variable; an empty one counts as not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::filesystem::path home() {
  if (const std::string value = variable("HOME"); !value.empty()) return value;
  passwd user{};
  passwd* found = nullptr;
  std::array<char, 4096> texts;
  const int error = ::getpwuid_r(::getuid(), &user, texts.data(), texts.size(), &found);  // getpwuid is for one thread
  return error == 0 && found ? user.pw_dir : "";
}

std::filesystem::path find_cache_dir() {
  if (const std::string value = variable("KB_CACHE"); !value.empty()) return std::filesystem::absolute(value);
  // The XDG base directory specification says that a relative path must be ignored.
  const std::filesystem::path xdg = variable("XDG_CACHE_HOME");
  if (xdg.is_absolute()) return xdg / "kilobatch";
  const std::filesystem::path base = home();
  return base.is_absolute() ? base / ".cache" / "kilobatch" : std::filesystem::path();
}

// Looks a program up as a shell does. A name that is not found is returned as it is, for the error to name.
std::string look_up(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string path = variable("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = (end == begin ? "." : path.substr(begin, end - begin)) + "/" + program;
    std::error_code error;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate, error)) return candidate;
    begin = end + 1;
  }
  return program;
}

std::string find_cuobjdump() {
  if (const std::string named = variable("KB_CUOBJDUMP"); !named.empty()) return look_up(named);
  const std::string found = look_up("cuobjdump");
  return found.find('/') == std::string::npos ? "/usr/local/cuda/bin/cuobjdump" : found;
}

std::string find_or_none(const std::string& program) {
  const std::string found = look_up(program);
  return found.find('/') == std::string::npos ? "" : found;
}

std::filesystem::path find_mps_pipes() {
  const std::string named = variable("CUDA_MPS_PIPE_DIRECTORY");
  return named.empty() ? "/tmp/nvidia-mps" : named;
}

int number(const std::string& text) { return static_cast<int>(std::strtol(text.c_str(), nullptr, 10)); }

// Slurm sets its variables in a batch script too, where srun started nothing; those of a step are set by srun alone.
Launcher find_launcher() {
  if (const std::string size = variable("OMPI_COMM_WORLD_SIZE"); !size.empty())
    return {"mpirun", number(size), true, number(variable(kLaunchedBy))};
  const int tasks = number(variable("SLURM_STEP_NUM_TASKS"));
  const std::string name = tasks > 0 ? "srun" : "mpiexec";
  if (const std::string size = variable("PMI_SIZE"); !size.empty()) return {name, number(size)};
  if (!variable("PMIX_RANK").empty()) return {name, tasks};
  if (tasks > 1) return {name, tasks, false};
  return {};
}

int find_kernel_level() {
  const std::string level = variable("KB_KERNEL_LEVEL");
  if (level.empty()) return 2;
  if (level.size() != 1 || level[0] < '0' || level[0] > '2')
    throw Error("KB_KERNEL_LEVEL: expected 0, 1 or 2, at which kernels are optimised, got '" + level + "'");
  return level[0] - '0';
}

}  // namespace

RuntimeOptions RuntimeOptions::from_environment() {
  const std::string named = variable("KB_CXX");
  return {.cache_dir = find_cache_dir(),
          .data_dir = variable("KB_DATA"),
          .compiler = named.empty() ? KB_HOST_CXX : look_up(named),
          .compiler_origin = named.empty() ? "the configure step" : "KB_CXX",
          .kernel_level = find_kernel_level(),
          .mpirun = look_up("mpirun"),
          .cuobjdump = find_cuobjdump(),
          .rsvg_convert = find_or_none("rsvg-convert"),
          .mps_control = find_or_none("nvidia-cuda-mps-control"),
          .mps_pipes = find_mps_pipes(),
          .launcher = find_launcher()};
}

// The variables of a process manager would also mislead an mpirun that is started from here.
void RuntimeOptions::forget_launcher() {
  std::vector<std::string> names = {"SLURM_STEP_NUM_TASKS", kLaunchedBy};
  for (char** entry = environ; *entry; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    for (const char* start : {"OMPI_COMM_WORLD_", "PMI_", "PMIX_"})
      if (name.starts_with(start)) names.push_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace kb
