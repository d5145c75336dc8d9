// One NVIDIA GPU for the processes of several trials. By itself it takes turns between processes; NVIDIA's
// multi-process service (MPS) lets what they launch run at once, as streams of one process do.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/folder_lock.h"

namespace kb {

class GpuShare {
 public:
  // Starts the service for the trials of this process, unless the user has set one up, which all programs find.
  // `folder`: for the service's sockets, whose paths the system bounds by 107 bytes; empty: that for temporary files. A
  // service that a killed process left there is ended first.
  explicit GpuShare(const std::filesystem::path& folder = {});
  // Ends the service that was started, which waits for its last process.
  ~GpuShare();
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;

  // Why processes take turns instead; empty where they do not.
  const std::string& shortfall() const { return shortfall_; }
  // Words before a trial's program, which make it use the service.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::filesystem::path lock_folder(const std::filesystem::path& folder);
  void start();
  void end() const;

  std::string control_;
  std::filesystem::path folder_;  // empty where none was started
  std::unique_ptr<const FolderLock> lock_;
  std::string shortfall_;
  std::vector<std::string> words_;
};

}  // namespace kb
