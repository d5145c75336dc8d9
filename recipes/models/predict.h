// What a run's model says of images: each brought into the form in which the run evaluated its own, through the graph
// of its evaluations up to the logits.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/bytes.h"
#include "recipes/task/model.h"

namespace kb {

struct PredictRequest {
  std::filesystem::path run;    // its folder; it may be in use
  std::string checkpoint = {};  // a file, or its name in the run; "" = the best state, else the newest that is whole
  bool averaged = false;        // the parameters as --ema has averaged them, in place of the last ones
  bool invert = false;          // 255 - pixel: of images dark on light where the set is light on dark, or the reverse
};

struct ClassShare {
  int64_t label = 0;
  std::string name;
  double probability = 0;
};

// A run's model with its weights, on the processors of this machine.
class Predictor {
 public:
  // `own`: the recipe of the program that was called; none: the run is of one in the table. `say` is given a line for
  // each damaged checkpoint that was passed over. Throws Error where there is no such run, or none of its weights, for
  // a run of another recipe, and for one that does not tell classes of images apart.
  Predictor(const PredictRequest& request, const std::optional<Recipe>& own,
            const std::function<void(const std::string&)>& say);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // "lenet_mnist after 938 steps (runs/a/checkpoints/best.safetensors)".
  std::string description() const;
  // Images that one call of classes_of() takes, at most.
  size_t most() const;
  // Returns the pixels of an image file as the model sees them. Throws DataError where it is no image.
  Bytes read(const std::filesystem::path& image) const;
  // Returns the classes of each image, the most probable first. `images`: what read() gave.
  std::vector<std::vector<ClassShare>> classes_of(const std::vector<Bytes>& images);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kb
