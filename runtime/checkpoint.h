// Checkpoints: all that a run needs to continue to the same bits, in one safetensors file STEP.safetensors. Tensors
// have the store's canonical form. The metadata are the cursor, the facts that must hold for a run that loads it, and
// two SHA-256: of the state, and of the header (computed with zeros in its own place), so that a flipped bit anywhere
// is found.
#pragma once
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "runtime/state_store.h"

namespace kb {

// The file in a folder that holds the best state so far. It stays when the checkpoint of its step is removed.
inline constexpr const char* kBestCheckpoint = "best.safetensors";

// The metadata key of CheckpointCursor::schedule_state; its value is equally long in every file of a folder.
inline constexpr const char* kScheduleState = "schedule_state";

// The point that a run has reached. Randomness is a function of seed and step, so there is nothing else to save.
struct CheckpointCursor {
  int64_t step = 0;             // number of steps done
  int64_t samples = 0;          // number of samples seen
  std::string schedule_sha256;  // 64 digits: hash of the scalars of all steps done, in the order of the schedule
  bool is_best = false;         // the best state so far, which becomes kBestCheckpoint too
  // State of a schedule that depends on more than the step (AdaScale); "": there is none.
  std::string schedule_state = {};
};

struct CheckpointFolder {
  std::filesystem::path path;
  std::map<std::string, std::string> facts;  // are written into every file's metadata
  int64_t keep = 1;                          // number of files that stay, the newest
  std::function<void()> before = [] {};  // puts on the disk what must be there before the file; another thread calls it
};

// Writes checkpoints while the training continues: save() copies the state and returns. The memory of the copy is
// allocated in the constructor.
class CheckpointWriter {
 public:
  CheckpointWriter(const StateStore& store, CheckpointFolder folder);
  ~CheckpointWriter();  // waits for the last save; an error that nobody asked for is lost
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Saves the state, after it waited for the previous save. Files of later steps, which an earlier run left, are
  // removed when this one is on the disk.
  void save(const CheckpointCursor& cursor);
  // Throws the error of a save (Error for a full disk) if there is one by now. Allocates nothing.
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

  const std::string& fact(const std::string& key) const;  // "" if there is no such fact
};

// Reads a checkpoint and checks every byte. Throws Error, with the reason, when the file is cut short, damaged or no
// checkpoint, or holds values that are not finite; FileError when the system cannot read it.
Checkpoint read_checkpoint(const std::filesystem::path& path);
// Returns the checkpoint's tensors without optimizer state and the loss scale of f16: the model, as PyTorch names it.
std::vector<NamedTensor> model_tensors(const Checkpoint& checkpoint);

// Makes the checkpoint of `step` in the folder its kBestCheckpoint. Throws Error when it cannot.
void keep_best_checkpoint(const std::filesystem::path& folder, int64_t step);

// Returns the lines of an error that ends a run: the newest checkpoint of the folder, from which it may go on.
std::string kept_text(const std::filesystem::path& folder);

// Returns the checkpoint files of a folder, told by their names alone, the newest first; nothing if there is no folder.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

}  // namespace kb
