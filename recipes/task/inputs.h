// Inputs of a model: shape, classes and normalisation of each data set. Those of a published one are known without the
// data, so that its graph is the same whether or not the images are there; for images of your own the data tell, and
// for those of `imagenet` too, where they are there.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace kb {

struct InputSpec {
  std::string dataset;
  ImageShape shape;
  int64_t classes = 0;
  std::vector<double> mean, stddev;  // a channel; of pixels scaled to [0, 1]
  int64_t train_count = 0;           // samples of the training part, as published or as found
  int64_t test_count = 0;            // samples of the test part
  bool noise = false;                // data.path synthetic: one minibatch of noise for all steps
  bool in_files = false;             // the loader reads the images one by one; no memory holds them all
};

// Noise in the shape that a model is made for.
struct Synthetic {
  ImageShape shape = {1, 28, 28};
  int64_t classes = 10;
  int64_t train_count = 4096, test_count = 1024;
};

// In place of a folder: noise in the shape of the data set, so that a step can be timed without it.
constexpr const char* kNoise = "synthetic";
// Data set of noise (data/sets/synthetic.h), which is read and shuffled like another.
constexpr const char* kSynthetic = "synthetic";

// A recipe's own way to its images; `dir` is data.path, which it may leave alone. make_dataset adds the statistics.
using LoadImages = Dataset (*)(const std::filesystem::path& dir);

// Source of images, by name: a published set; "glyphs"; "imagenet", see data/images/image_set.h; "folder", see
// data/sets/folder.h; "synthetic"; "own", which `load` brings.
struct ImageSource {
  std::string dataset;
  Synthetic synthetic = {};
  std::filesystem::path dir = {};  // data.path; kNoise in place of a folder
  LoadImages load = nullptr;
  int64_t side = 224;  // height and width of the images of "imagenet", in pixels
};

// The names that a source takes: "own" where it has its own way, "synthetic" last.
std::vector<std::string> input_names(LoadImages load);

// Whether shape, classes and normalisation follow from the name: of a published or drawn set.
bool is_known_by_name(const std::string& dataset);

// Whether the data tell shape, classes and normalisation: images of your own, and "imagenet" where its images are
// there.
bool known_from_data_alone(const ImageSource& source);

// Both throw Error on an unknown name. input_spec loads nothing but sets of your own. load_input throws DataError where
// the data are missing or damaged, and Error where they are not what is known of them.
InputSpec input_spec(const ImageSource& source);
struct Input {
  InputSpec spec;
  Dataset data;
};
Input load_input(const ImageSource& source);

// A NOTE where all labels of a part of the data set are of one class; else empty.
std::string one_class_note(const Dataset& data);

}  // namespace kb
