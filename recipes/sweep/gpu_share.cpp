#include "recipes/sweep/gpu_share.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "graph/error.h"
#include "recipes/run/command_words.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "runtime/temporary_folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnv = "/usr/bin/env";  // becomes the program that its words name, in the same process
constexpr const char* kParts[] = {"pipe", "log"};

}  // namespace

GpuShare::GpuShare(const fs::path& folder) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (is_there(options.mps_pipes / "control")) return;
  control_ = options.mps_control;
  if (control_.empty()) {
    shortfall_ = "nvidia-cuda-mps-control, which comes with NVIDIA's driver, is not installed";
    return;
  }
  try {
    folder_ = lock_folder(folder.empty() ? temporary_parent() : folder);
    start();
  } catch (const Error& error) {
    shortfall_ = error.what();
    folder_.clear();
  }
}

GpuShare::~GpuShare() {
  if (!folder_.empty()) end();
}

// Returns a folder that this process has alone. The socket of an earlier process that was killed may lie in it.
fs::path GpuShare::lock_folder(const fs::path& folder) {
  for (int number = 1;; ++number) {
    const fs::path own = folder / fmt::format("kilobatch-mps-{}-{}", ::getuid(), number);
    make_folder(own);
    lock_ = std::make_unique<FolderLock>(own);
    if (lock_->has_it()) return own;
  }
}

void GpuShare::start() {
  words_ = {kEnv, "CUDA_MPS_PIPE_DIRECTORY=" + (folder_ / "pipe").string(),
            "CUDA_MPS_LOG_DIRECTORY=" + (folder_ / "log").string()};
  end();
  for (const char* part : kParts) make_folder(folder_ / part);
  std::vector<std::string> command = words_;
  command.insert(command.end(), {control_, "-d"});
  const ProcessResult result = Process(command).wait();
  if (result.status == 0) return;
  words_.clear();
  throw Error(fmt::format("{} -d: exit code {}: {}", control_, result.status,
                          result.output.substr(0, result.output.find('\n'))));
}

void GpuShare::end() const {
  std::vector<std::string> command = words_;
  command.insert(command.end(), {"/bin/sh", "-c", "echo quit | " + shell_quoted(control_)});
  try {
    if (is_there(folder_ / "pipe")) Process(command).wait();
    std::error_code error;
    for (const char* part : kParts) fs::remove_all(folder_ / part, error);
  } catch (const Error&) {
    // The next process that uses this folder ends the service.
  }
}

}  // namespace kb
