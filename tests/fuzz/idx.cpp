// Fuzzes the reader of idx files, plain and gzip. The first byte says which of the four files of a set the rest is: 0
// to 3 for a plain file, 4 to 7 for the same files as .gz. The other three files of the set are good.
#include "data/sets/idx.h"

#include "data/error.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::idx_target {
namespace {

constexpr const char* kNames[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                  "t10k-labels-idx1-ubyte"};
const std::string_view kGood[] = {{"\0\0\x8\x3\0\0\0\2\0\0\0\1\0\0\0\2abcd", 20},
                                  {"\0\0\x8\x1\0\0\0\2\0\1", 10},
                                  {"\0\0\x8\x3\0\0\0\1\0\0\0\1\0\0\0\2ef", 18},
                                  {"\0\0\x8\x1\0\0\0\1\1", 9}};
const IdxSpec kSpec = {"tiny", {"a", "b"}, "nowhere", {2, 1}, {1, 1, 2}};

// One folder for each file that an input may be, and for its packed form.
struct Folders {
  MemoryFile good[4], input;
  ScratchFolder folder;

  Folders() {
    for (size_t file = 0; file < 4; ++file) good[file].write(kGood[file]);
    for (size_t choice = 0; choice < 8; ++choice)
      for (size_t file = 0; file < 4; ++file) {
        const bool own = file == choice % 4;
        folder.link(std::to_string(choice) + "/" + kNames[file] + (own && choice >= 4 ? ".gz" : ""),
                    own ? input : good[file]);
      }
  }
};

}  // namespace

KB_FUZZ_TARGET(idx) {
  static const Folders folders;
  Steering steering(data, size);
  const int choice = steering.byte() % 8;
  folders.input.write(steering.rest());
  try {
    const Dataset set = load_idx_dataset(kSpec, folders.folder.path() / std::to_string(choice));
    require(set.train.pixels.size() == 4 && set.test.labels.size() == 1, "a set of the published size");
  } catch (const DataError&) {
  }
}

}  // namespace kb::fuzz::idx_target
