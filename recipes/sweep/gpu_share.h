// Shares an NVIDIA GPU between the processes of several trials. Without help a GPU takes turns between processes;
// NVIDIA's multi-process service (MPS) runs their kernels at the same time, like those of several streams of one
// process.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/folder_lock.h"

namespace kb {

class GpuShare {
 public:
  // Starts the service for the trials of this process, unless the user has started one, which all programs find.
  // `folder`: for the service's sockets, whose paths the system limits to 107 bytes; empty: the folder for temporary
  // files. A service that a killed process left there is ended first.
  explicit GpuShare(const std::filesystem::path& folder = {});
  // Ends the service if this object started it; it waits until its last process has ended.
  ~GpuShare();
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;

  // Returns why processes take turns instead; "" if they do not.
  const std::string& shortfall() const { return shortfall_; }
  // Returns words to put before a trial's program, which make it use the service.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::filesystem::path lock_folder(const std::filesystem::path& folder);
  void start();
  void end() const;

  std::string control_;
  std::filesystem::path folder_;  // folder of the service; empty: none was started
  std::unique_ptr<const FolderLock> lock_;
  std::string shortfall_;
  std::vector<std::string> words_;
};

}  // namespace kb
