// --picture and --trace: draws a step, timed or predicted, into the files that the flags name.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flags.h"
#include "recipes/perf/timeline.h"
#include "recipes/run/console.h"
#include "recipes/train/world.h"
#include "runtime/session.h"

namespace kb {

bool wants_picture(const RunConfig& config);

// Throws Error if a file cannot be written, before there is anything to write, and UsageError if it is the run's own.
void check_picture_files(const RunConfig& config);

// Texts about the step that picture and trace show.
struct PictureWords {
  std::string what;    // "resnet_cifar, minibatch 64: step 19, measured"
  std::string device;  // "cpu: avx2, 1 thread"
};

// Returns the timeline of `programs`, which run one after another, such as those of Session::profiled(). `profile` has
// their times, from Session::profile() or predicted_profile().
Timeline step_timeline(const Compiled& compiled, std::span<const Schedule* const> programs, const Profile& profile,
                       const PictureWords& words);

// Writes the files that the flags ask for. Returns a line that names them. `events`: those of every process.
std::string write_pictures(const RunConfig& config, const Timeline& timeline, const std::vector<std::string>& events);

// A picture of one step of a run, late enough that caches are warm. All processes of the world draw theirs together.
class StepPicture {
 public:
  // `begin`, `end`: the steps of the run that are to come. If no flag names a file, no step is drawn.
  StepPicture(const Recipe& recipe, const RunConfig& config, std::string device, World& world, Console& console,
              int64_t begin, int64_t end);

  bool is_of(int64_t step) const { return step == step_; }
  // Must be called before the profile: the clocks of all processes then begin together.
  void begin() const { world_.communicator().barrier(); }
  void draw(const Session& session, const Profile& profile) const;

 private:
  const Recipe& recipe_;
  const RunConfig& config_;
  std::string device_;
  World& world_;
  Console& console_;
  int64_t step_ = -1;
};

}  // namespace kb
