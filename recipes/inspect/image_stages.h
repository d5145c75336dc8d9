// Times the stages between an image file and the pixels that a network sees, on one core.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/bytes.h"

namespace kb {

// Returns the bytes of a file: either read into the memory given, or where they lie already.
using ReadImage = std::function<std::span<const uint8_t>(Bytes& memory)>;

struct StageTime {
  std::string name;
  double seconds = 0;  // seconds of processor time per image
};

struct ImageStages {
  int64_t images = 0;  // number of images that were timed
  double bytes = 0;    // mean bytes per file
  double pixels = 0;   // mean pixels per image
  std::vector<StageTime> stages;
  double entropy = 0, whole = 0;  // seconds per image: entropy decoding alone; all that the loader does
};

// Times each stage on every image in turn, `rounds` times with other crops to side x side, and takes the median of the
// rounds. Leaves out files that cannot be decoded. Throws Error if none is left.
ImageStages time_image_stages(const std::vector<ReadImage>& images, int64_t side, int rounds);

}  // namespace kb
