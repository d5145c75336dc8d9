// The task of a run that its recipe and its configuration ask for: one of labelled images, or the recipe's own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/augmentation.h"
#include "recipes/task/image_task.h"

namespace kb {

// Facts about a run's data, for its output, its manifest and its checkpoints.
struct DataFacts {
  std::string name;
  std::string fingerprint;                     // hash of the contents in hexadecimal digits
  std::string text;                            // "data mnist: 60000 training and 10000 test images of 1x28x28, ..."
  std::string note = {};                       // lines that say what a person should know of the data; empty: none
  std::vector<std::string> class_names = {};   // names of the classes; only of images, as the rest
  std::vector<double> mean = {}, stddev = {};  // one per channel, of pixels scaled to [0, 1]
  ImageShape shape = {};                       // shape of an image
  bool in_files = false;                       // whether images are files of any size, cropped to a square
};

struct LoadedTask {
  Task task;  // complete with its sources
  DataFacts data;
};

// Returns the task for a training. If its programs follow from the data set's name, the training reads the data while
// it compiles (Task::read) and sets `data` then; else they are read at once. `recipe`, `config` and `data` must outlive
// the training.
Task task_to_train(const Recipe& recipe, const RunConfig& config, DataFacts& data);
// Returns the task without its sources, which is enough to compile it, or nothing if the task depends on the data.
std::optional<Task> task_before_data(const Recipe& recipe, const RunConfig& config);
// Reads the data that the configuration names. Throws DataError if they are missing or damaged.
LoadedTask load_task(const Recipe& recipe, const RunConfig& config);
// Returns the task without reading the data, unless the task depends on them.
Task declared_task(const Recipe& recipe, const RunConfig& config);
// Returns a task for timing, whose training part is noise.
Task timed_task(const Recipe& recipe, const RunConfig& config);

// Returns the source of a run's images. Throws Error unless the recipe is one of labelled images.
ImageSource image_source(const Recipe& recipe, const RunConfig& config);
// Returns the task for the images that `input` describes; the recipe must be one of labelled images.
Task task_of(const Recipe& recipe, const RunConfig& config, const InputSpec& input);

}  // namespace kb
