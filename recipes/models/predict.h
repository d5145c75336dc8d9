// Classifies images with the model of a run: brings each image into the form in which the run evaluated its own, and
// computes the logits by the graph of its evaluations.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/bytes.h"
#include "recipes/models/run_model.h"
#include "recipes/task/model.h"
#include "runtime/session.h"

namespace kb {

struct PredictRequest {
  RunModelRequest model = {};
  bool invert = false;  // whether to take 255 - pixel, as for dark ink on paper where the data set is light on dark
};

struct ClassShare {
  int64_t label = 0;
  std::string name;
  double probability = 0;
};

// A run's model with its weights, on the CPU of this machine.
class Predictor {
 public:
  // Loads the model. `own`: recipe of the program that was called; if empty, the run's recipe is one in the table.
  // Calls `say` with a line for each damaged checkpoint that it passes over. Throws Error if there is no such run or
  // none of its weights, and for a run of another recipe or of one that does not tell classes of images apart.
  Predictor(const PredictRequest& request, const std::optional<Recipe>& own,
            const std::function<void(const std::string&)>& say);

  const std::string& description() const { return model_.description; }
  // Returns the number of images that one call of classes_of() takes at most.
  size_t most() const { return static_cast<size_t>(rows_); }
  // Returns the pixels of an image file as the model takes them. Throws DataError if the file is no image.
  Bytes read(const std::filesystem::path& image) const;
  // Returns the classes of each image, the most probable first. `images`: results of read().
  std::vector<std::vector<ClassShare>> classes_of(const std::vector<Bytes>& images);

 private:
  void feed(const std::vector<Bytes>& images);

  const bool invert_;
  RunModel model_;
  const InputSpec input_;
  const std::vector<std::string> names_;
  const int64_t rows_;
  const Graph logits_;
  Session session_;
};

}  // namespace kb
