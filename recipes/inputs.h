// What a model is fed, known without the data: shape, classes and normalisation of each data set, so that a graph is
// the same whether or not the images are there.
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
  int64_t train_count = 0;           // as published; a subset on disk may hold fewer
};

// Noise in the shape that a model is made for.
struct Synthetic {
  ImageShape shape = {1, 28, 28};
  int64_t classes = 10;
  int64_t train_count = 4096, test_count = 1024;
};

// Names of the data sets that recipes take, "synthetic" last.
std::vector<std::string> input_names();

// Throws Error on an unknown name.
InputSpec input_spec(const std::string& dataset, const Synthetic& synthetic);

// Loads the data; throws DataError where it is missing or damaged, and Error where it is not what the spec says.
Dataset load_input(const InputSpec& spec, const Synthetic& synthetic, const std::filesystem::path& dir);

}  // namespace kb
