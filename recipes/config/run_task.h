// The task of a run, as its recipe and its configuration ask for it: that of labelled images, or the recipe's own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/augmentation.h"
#include "recipes/task/image_task.h"

namespace kb {

// Facts of a run's data: for its console, its manifest and its checkpoints.
struct DataFacts {
  std::string name;
  std::string fingerprint;                     // hash of the contents, hexadecimal digits
  std::string text;                            // "data mnist: 60000 training and 10000 test images of 1x28x28, ..."
  std::string note = {};                       // lines that say what is odd about them; empty: nothing
  std::vector<std::string> class_names = {};   // of images, as the next two; else empty
  std::vector<double> mean = {}, stddev = {};  // a channel; of pixels scaled to [0, 1]
  ImageShape shape = {};                       // of an image
  bool in_files = false;                       // images of any size, seen through a square
};

struct LoadedTask {
  Task task;  // with its sources
  DataFacts data;
};

// Returns the task for a training, which reads the data beside the compiling (Task::read) where its programs follow
// from the data set's name, and sets `data` then; else it is read at once. `recipe`, `config` and `data` must outlive
// the training.
Task task_to_train(const Recipe& recipe, const RunConfig& config, DataFacts& data);
// Returns the task without its sources, which is all that is compiled; nothing where it follows from the data alone.
std::optional<Task> task_before_data(const Recipe& recipe, const RunConfig& config);
// Reads the data that the configuration names. Throws DataError where they are missing or damaged.
LoadedTask load_task(const Recipe& recipe, const RunConfig& config);
// Returns the task, for which the data are read where it follows from them alone.
Task declared_task(const Recipe& recipe, const RunConfig& config);
// Returns a task that is timed: its training part is one minibatch of noise.
Task timed_task(const Recipe& recipe, const RunConfig& config);

// For recipes of labelled images: the source of a run's images (it throws Error where the recipe has none), and the
// task for images of which `input` says what is known.
ImageSource image_source(const Recipe& recipe, const RunConfig& config);
Task task_of(const Recipe& recipe, const RunConfig& config, const InputSpec& input);

}  // namespace kb
