// Fuzzes the reader of PPM and PGM images. The input is the first of the four images of a folder, so it sets the shape
// that the three others must have.
#include "data/error.h"
#include "data/sets/folder.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::ppm_target {
namespace {

struct Folder {
  MemoryFile good, input;
  ScratchFolder folder;

  Folder() {
    good.write("P5 2 1 255\nab");
    folder.link("train/a/1.pgm", input);
    for (const char* name : {"train/b/1.pgm", "test/a/1.pgm", "test/b/1.pgm"}) folder.link(name, good);
  }
};

}  // namespace

KB_FUZZ_TARGET(ppm) {
  static const Folder folder;
  folder.input.write(text_of(data, size));
  try {
    const Dataset set = load_folder_dataset(folder.folder.path());
    require(set.train.pixels.size() == 4 && set.shape.size() == 2, "images of two pixels");
  } catch (const DataError&) {
  }
}

}  // namespace kb::fuzz::ppm_target
