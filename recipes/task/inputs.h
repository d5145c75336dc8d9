// Inputs of a model: shape, classes and normalisation of each data set. They are known for a published data set without
// its data, so that the graph is the same whether or not the images are there. They are read from the data for images
// of your own, and for `imagenet` if its images are there.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/sets/synthetic.h"

namespace kb {

struct InputSpec {
  std::string dataset;
  ImageShape shape;
  int64_t classes = 0;
  std::vector<double> mean, stddev;  // one per channel, of pixels scaled to [0, 1]
  int64_t train_count = 0;           // samples of the training part, as published or as found
  int64_t test_count = 0;            // samples of the test part
  bool noise = false;                // data.path is kNoise: one minibatch of noise stands for all steps
  bool in_files = false;             // the loader reads the images from files; memory does not hold them all
};

// Value of data.path that asks for noise in the shape of the data set, so that a step can be timed without the data.
constexpr const char* kNoise = "synthetic";
// Name of a data set of noise (data/sets/synthetic.h), which is loaded and shuffled like any other data set.
constexpr const char* kSynthetic = "synthetic";

// A function that loads a recipe's own images. `dir` is data.path, which the function may ignore. It makes the data set
// by make_dataset() (data/dataset.h), which computes the statistics for the normalisation.
using LoadImages = Dataset (*)(const std::filesystem::path& dir);

// The images of a run. `dataset` is the name of a published set, "glyphs" or "glyphs-hour" (drawn images), "imagenet"
// (data/images/image_set.h), "folder" (data/sets/folder.h), "synthetic", or "own", which `load` loads.
struct ImageSource {
  std::string dataset;
  SyntheticSpec synthetic = {};
  std::filesystem::path dir = {};  // data.path: a folder, or kNoise
  LoadImages load = nullptr;
  int64_t side = 224;  // height and width of the images of "imagenet", in pixels
};

// Returns the names that ImageSource::dataset may have: "own" first if `load` is not null, "synthetic" last.
std::vector<std::string> input_names(LoadImages load);

// Returns whether shape, classes and normalisation follow from the name, without the data: for a published or drawn set
// and, with ImageSource::synthetic, for "synthetic".
bool is_known_by_name(const std::string& dataset);

// Returns whether shape, classes and normalisation have to be read from the data: for images of your own, and for
// "imagenet" if its images are there.
bool known_from_data_alone(const ImageSource& source);

// input_spec() loads the data only if known_from_data_alone(). load_input() loads them always; if `dir` is kNoise, it
// makes noise in their shape instead, but loads "own" all the same. Both throw Error for an unknown name, and DataError
// if the data are missing or damaged; load_input() also throws Error if the data have another shape or number of
// classes than their name stands for, and for "folder" with kNoise.
InputSpec input_spec(const ImageSource& source);
struct Input {
  InputSpec spec;
  Dataset data;
};
Input load_input(const ImageSource& source);

// Returns a line that begins with NOTE if all labels of a part of the data set are equal; else "".
std::string one_class_note(const Dataset& data);

}  // namespace kb
