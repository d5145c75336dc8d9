// Checkpoints: all that a run needs to go on to the same bits, each in one safetensors file STEP.safetensors of a
// folder. Tensors are the store's canonical ones; the metadata are the cursor, the facts that must hold where it is
// loaded, and two SHA-256: of the state, and of the header (written with zeros in its own place), so that a flipped bit
// anywhere is found.
#pragma once
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "runtime/state_store.h"

namespace kb {

// File of a folder that holds the best state so far; it stays when the checkpoint of its step goes.
inline constexpr const char* kBestCheckpoint = "best.safetensors";

// Key of the fact that CheckpointCursor::schedule_state is written over; as wide in every file of a folder.
inline constexpr const char* kScheduleState = "schedule_state";

// The point that a run has reached. Randomness is a function of seed and step, so that there is nothing else to save.
struct CheckpointCursor {
  int64_t step = 0;                 // done
  int64_t samples = 0;              // seen
  std::string schedule_sha256;      // 64 digits: of the scalars of all steps done, as the schedule counts them
  bool is_best = false;             // so far: kept as kBestCheckpoint too
  std::string schedule_state = {};  // of a schedule that is no function of the step (AdaScale); "": it is one
};

struct CheckpointFolder {
  std::filesystem::path path;
  std::map<std::string, std::string> facts;  // into every file's metadata
  int64_t keep = 1;                          // files that stay, the newest
  std::function<void()> before = [] {};      // what must be on the disk before a file is; called by another thread
};

// Writes beside the training: save() copies the state and returns. One copy of the state is taken in the constructor.
class CheckpointWriter {
 public:
  CheckpointWriter(const StateStore& store, CheckpointFolder folder);
  ~CheckpointWriter();  // waits; an error that nobody asked for is lost
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the save before. Files of later steps, of a future that was given up, go when this one is there.
  void save(const CheckpointCursor& cursor);
  // Throws what a save met (Error of a full disk) if it has met it by now; allocates nothing.
  void check();
  void wait();

 private:
  void write(int64_t step, bool is_best);
  void write_file(int64_t step, bool is_best);
  void patch(const char* key, std::string_view value);

  const StateStore& store_;
  const CheckpointFolder folder_;
  std::vector<TensorView> state_, copies_;
  std::vector<std::byte> body_;
  std::string header_;
  std::future<void> pending_;
};

struct Checkpoint {
  std::filesystem::path path;
  int64_t step = 0, samples = 0;
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;

  const std::string& fact(const std::string& key) const;  // "" where there is none
};

// Checks every byte. Throws Error, with the reason, for a file that is cut short, damaged, no checkpoint, or of values
// that are not finite; FileError for one that cannot be read, whatever is in it.
Checkpoint read_checkpoint(const std::filesystem::path& path);
// The checkpoint without optimizer state, as PyTorch knows a model.
std::vector<NamedTensor> model_tensors(const Checkpoint& checkpoint);

// Makes the checkpoint of `step` in the folder its kBestCheckpoint. Throws Error where it cannot.
void keep_best_checkpoint(const std::filesystem::path& folder, int64_t step);

// Files of the folder by their names alone, the newest first; none where there is no folder.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

}  // namespace kb
