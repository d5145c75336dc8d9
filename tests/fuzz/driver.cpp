// Runs a fuzz target without libFuzzer. `fuzz NAME FOLDER RUNS` runs every file of the corpus in FOLDER, then RUNS
// mutations of them, which are the same in every call. Time and memory have the limits that tests/fuzz/run gives
// libFuzzer. The input that ended the program is left as fuzz_NAME.input in the working folder.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 1 << 16;    // greatest size of an input
constexpr unsigned kMostSeconds = 10;     // greatest time of a run
constexpr int64_t kMostMemory = 2048000;  // greatest resident memory, kB

using Input = std::vector<uint8_t>;

std::vector<Input> corpus_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) throw std::runtime_error("there is no corpus in " + folder.string());
  return corpus;
}

// A file with the input that runs now. It is removed at the end, and so remains only if the program ends in the middle
// of a run.
class LastInput {
 public:
  explicit LastInput(fs::path path) : path_(std::move(path)) {
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) throw std::runtime_error("cannot write " + path_.string());
    descriptor_ = file;
  }
  ~LastInput() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  LastInput(const LastInput&) = delete;
  LastInput& operator=(const LastInput&) = delete;

  void keep(const Input& input) const {
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, input.data(), input.size(), 0) < 0)
      throw std::runtime_error("cannot write " + path_.string());
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

class Mutator {
 public:
  explicit Mutator(const std::vector<Input>& corpus) : corpus_(corpus) {}

  Input next() {
    Input input = corpus_[below(corpus_.size())];
    for (size_t left = 1 + below(6); left > 0; --left) mutate(input);
    if (input.size() > kMostBytes) input.resize(kMostBytes);
    return input;
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random_() % bound); }
  ptrdiff_t place(const Input& input) { return static_cast<ptrdiff_t>(below(input.size() + 1)); }

  void mutate(Input& input) {
    constexpr uint8_t kNotable[] = {0, 1, 0x7f, 0x80, 0xff, '"', '[', '{', '-', '.', '\n', ',', '9'};
    const size_t at = below(input.size());
    const auto begin = input.begin() + place(input);
    const auto end = begin + static_cast<ptrdiff_t>(below(static_cast<size_t>(input.end() - begin) + 1));
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = kNotable[below(std::size(kNotable))];
        break;
      case 2:
        input.insert(begin, kNotable[below(std::size(kNotable))]);
        break;
      case 3:
        input.erase(begin, end);
        break;
      case 4: {  // inserts a part of the input once or 64 times
        const Input part(begin, end);
        for (size_t times = below(4) == 0 ? 64 : 1; times > 0 && input.size() < kMostBytes; --times)
          input.insert(input.begin() + place(input), part.begin(), part.end());
        break;
      }
      case 5:
        input.erase(begin, input.end());
        break;
      default: {  // replaces the end by that of another input
        const Input& other = corpus_[below(corpus_.size())];
        input.erase(begin, input.end());
        input.insert(input.end(), other.begin() + place(other), other.end());
      }
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_{20240601};
};

void check_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  kb::fuzz::require(usage.ru_maxrss < kMostMemory, "at most 2 GB of memory");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s NAME FOLDER RUNS\n", argv[0]);
    return 2;
  }
  const kb::fuzz::TargetFunction target = kb::fuzz::find_target(argv[1]);
  const std::vector<Input> corpus = corpus_of(argv[2]);
  const long runs = std::atol(argv[3]);
  const LastInput last("fuzz_" + std::string(argv[1]) + ".input");
  const auto run = [&](const Input& input) {
    last.keep(input);
    ::alarm(kMostSeconds);
    target(input.data(), input.size());
  };
  for (const Input& input : corpus) run(input);
  Mutator mutator(corpus);
  for (long i = 0; i < runs; ++i) run(mutator.next());
  ::alarm(0);
  check_memory();
  std::fprintf(stderr, "%zu inputs and %ld mutations of them\n", corpus.size(), runs);
  return 0;
}
