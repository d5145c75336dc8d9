// Tells before the first step whether the disk of a run's folder has room for the run's files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// The large files of a run, at the moment when most of them are there.
struct RunFiles {
  int64_t checkpoint_bytes = 0, checkpoints = 0;  // bytes of one, and how many there are
  int64_t model_bytes = 0, models = 0;            // likewise model.safetensors
  int64_t total() const { return checkpoint_bytes * checkpoints + model_bytes * models; }
};

// Returns the files that are still to be written by a run that keeps so many checkpoints. A file is renewed by writing
// another one beside it. `goes_on`: all but the files beside them are there already.
RunFiles files_to_write(const StateStore& store, int64_t keep, bool goes_on);

// Returns a note if `files` take more than `free` bytes; else "".
std::string over_disk_note(const std::filesystem::path& run, int64_t free, const RunFiles& files);

// Returns the bytes that are free on the disk of a folder for this user; the greatest number if the system does not
// say.
int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace kb
