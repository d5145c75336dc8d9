#include "data/sets/load_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "data/error.h"
#include "data/sets/cifar.h"
#include "data/sets/folder.h"
#include "data/sets/glyphs.h"
#include "data/sets/idx.h"
#include "data/sets/synthetic.h"

namespace kb {
namespace {

Dataset load_mnist(const std::filesystem::path& dir, int) {
  return load_idx_dataset({"mnist",
                           {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                           "https://ossci-datasets.s3.amazonaws.com/mnist/",
                           {60000, 10000},
                           {1, 28, 28},
                           true},
                          dir);
}

Dataset load_fashion_mnist(const std::filesystem::path& dir, int) {
  return load_idx_dataset(
      {"fashion-mnist",
       {"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"},
       "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
       {60000, 10000},
       {1, 28, 28},
       true},
      dir);
}

Dataset load_cifar10(const std::filesystem::path& dir, int) { return load_cifar_dataset(cifar10_spec(), dir); }
Dataset load_cifar100(const std::filesystem::path& dir, int) { return load_cifar_dataset(cifar100_spec(), dir); }
Dataset load_glyphs(const std::filesystem::path&, int threads) { return glyphs_dataset({.threads = threads}); }
// Glyphs with another seed than `glyphs`, and noisier: a small net has an error of about 7 % on them. The number of
// training samples is a multiple of the minibatches from 32 to 4096.
Dataset load_glyphs_hour(const std::filesystem::path&, int threads) {
  Dataset set =
      glyphs_dataset({.train_count = 20480, .test_count = 5000, .seed = 2, .noise = 1.6f, .threads = threads});
  set.name = "glyphs-hour";
  return set;
}
Dataset load_folder(const std::filesystem::path& dir, int) { return load_folder_dataset(dir); }
Dataset load_synthetic(const std::filesystem::path&, int) { return synthetic_dataset({}); }

struct DatasetRow {
  const char* name;
  Dataset (*load)(const std::filesystem::path& dir, int threads);
  const char* fingerprint;  // fingerprint of the whole published content; "": it is not known
};

constexpr std::array kDatasets = {
    DatasetRow{"mnist", load_mnist, "c6a075145c84df48"},
    DatasetRow{"fashion-mnist", load_fashion_mnist, "4f4f760f82d74035"},
    DatasetRow{"cifar10", load_cifar10, "4cba592b65076480"},
    DatasetRow{"cifar100", load_cifar100, ""},
    DatasetRow{"glyphs", load_glyphs, "8f051b56e696d370"},
    DatasetRow{"glyphs-hour", load_glyphs_hour, "a7e211c1f39b3bb4"},
    DatasetRow{"folder", load_folder, ""},
    DatasetRow{"synthetic", load_synthetic, "faf848549cf3ce76"},
};

/// Throws DataError when the content is not the published one. MNIST and Fashion-MNIST have the same file names and
/// extents, so that only the content tells them apart; it also tells damaged or exchanged files of the right size.
void check_content(const Dataset& set, const DatasetRow& wanted, const std::filesystem::path& dir) {
  for (const DatasetRow& row : kDatasets) {
    if (set.name != row.name && set.fingerprint == row.fingerprint) {
      throw DataError({dir.string(), "these files are another data set", set.name, row.name,
                       fmt::format("name the directory that holds {}, or load it as {}", set.name, row.name)});
    }
  }
  if (set.variant || wanted.fingerprint[0] == '\0' || set.fingerprint == wanted.fingerprint) return;
  throw DataError({dir.string(), fmt::format("the content is not that of {}", set.name),
                   fmt::format("fingerprint {}", wanted.fingerprint), set.fingerprint,
                   fmt::format("files were damaged, changed or exchanged: fetch them again; to use a variant on "
                               "purpose, put the lines 'train {}' and 'test {}' into {}",
                               set.train.count(), set.test.count(), kVariantFile)});
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const DatasetRow& row : kDatasets) names.emplace_back(row.name);
  return names;
}

Dataset load_dataset(std::string_view name, const std::filesystem::path& dir, int threads) {
  for (const DatasetRow& row : kDatasets) {
    if (row.name != name) continue;
    Dataset set = row.load(dir, threads);
    check_content(set, row, dir);
    return set;
  }
  throw DataError({"data set", "unknown name", fmt::format("one of {}", fmt::join(dataset_names(), ", ")),
                   fmt::format("'{}'", name), ""});
}

}  // namespace kb
