// Fuzzes the readers of CIFAR-10 and CIFAR-100 files. In the first byte, bit 0 chooses CIFAR-100, bit 1 the test part,
// and bit 2 a packed file. The next two bytes are the length in bytes to which the rest is repeated if the file is not
// packed, so that inputs stay small although a sample has 3 kB.
#include "data/sets/cifar.h"

#include "data/error.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::cifar_target {
namespace {

std::string repeated(std::string_view pattern, size_t size) {
  std::string text;
  while (!pattern.empty() && text.size() < size) text += pattern.substr(0, size - text.size());
  return text;
}

// Each file holds one sample.
CifarSpec small(CifarSpec spec) {
  spec.train.resize(1);
  spec.published = {1, 1};
  return spec;
}

const CifarSpec kSpecs[] = {small(cifar10_spec()), small(cifar100_spec())};

struct Folders {
  MemoryFile good, input;
  ScratchFolder folder;

  Folders() {
    for (size_t choice = 0; choice < 8; ++choice) {
      const CifarSpec& spec = kSpecs[choice & 1];
      const std::string name = std::to_string(choice) + "/", suffix = choice & 4 ? ".gz" : "";
      folder.link(name + spec.train[0].name + (choice & 2 ? "" : suffix), choice & 2 ? good : input);
      folder.link(name + spec.test.name + (choice & 2 ? suffix : ""), choice & 2 ? input : good);
    }
  }
};

}  // namespace

KB_FUZZ_TARGET(cifar) {
  static const Folders folders;
  Steering steering(data, size);
  const int choice = steering.byte() % 8;
  const size_t high = steering.byte(), low = steering.byte();
  const CifarSpec& spec = kSpecs[choice & 1];
  // An apple is a fruit: coarse label 4, fine label 0.
  folders.good.write((choice & 1 ? std::string("\4\0", 2) : std::string(1, '\1')) + std::string(3072, 'x'));
  folders.input.write(choice & 4 ? std::string(steering.rest()) : repeated(steering.rest(), high << 8 | low));
  try {
    const Dataset set = load_cifar_dataset(spec, folders.folder.path() / std::to_string(choice));
    require(set.train.pixels.size() == 3072 && set.test.count() == 1, "a set of the published size");
  } catch (const DataError&) {
  }
}

}  // namespace kb::fuzz::cifar_target
