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

IdxSpec mnist_spec() {
  return {"mnist",
          {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
          "https://ossci-datasets.s3.amazonaws.com/mnist/",
          {60000, 10000},
          {1, 28, 28},
          true};
}

// It has the shape and the counts of MNIST.
IdxSpec fashion_mnist_spec() {
  IdxSpec spec = mnist_spec();
  spec.name = "fashion-mnist";
  spec.class_names = {"t-shirt/top", "trouser", "pullover", "dress", "coat",
                      "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};
  spec.source = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
  return spec;
}

// Glyphs with another seed than `glyphs`, and noisier: a small net has an error of about 7 % on them. The number of
// training samples is a multiple of the minibatches from 32 to 4096.
GlyphsSpec glyphs_hour_spec() { return {.train_count = 20480, .test_count = 5000, .seed = 2, .noise = 1.6f}; }

SetFacts facts_of(const IdxSpec& spec) {
  return {spec.shape, std::ssize(spec.class_names), spec.published.train, spec.published.test};
}
SetFacts facts_of(const CifarSpec& spec) {
  return {kCifarShape, std::ssize(spec.class_names), spec.published.train, spec.published.test};
}
SetFacts facts_of(const GlyphsSpec& spec) {
  return {{1, kGlyphSide, kGlyphSide}, kGlyphClasses, spec.train_count, spec.test_count};
}

// It says where the files of a set are, how many threads draw one that has none, and which folder keeps what they draw.
struct Source {
  const std::filesystem::path& dir;
  int threads;
  const std::filesystem::path& cache;
};

constexpr const char* kGlyphsContent = "8f051b56e696d370";
constexpr const char* kGlyphsHourContent = "a7e211c1f39b3bb4";

Dataset load_mnist(const Source& from) { return load_idx_dataset(mnist_spec(), from.dir); }
Dataset load_fashion_mnist(const Source& from) { return load_idx_dataset(fashion_mnist_spec(), from.dir); }
Dataset load_cifar10(const Source& from) { return load_cifar_dataset(cifar10_spec(), from.dir); }
Dataset load_cifar100(const Source& from) { return load_cifar_dataset(cifar100_spec(), from.dir); }
Dataset load_glyphs(const Source& from) { return kept_glyphs({.threads = from.threads}, kGlyphsContent, from.cache); }
Dataset load_glyphs_hour(const Source& from) {
  GlyphsSpec spec = glyphs_hour_spec();
  spec.threads = from.threads;
  Dataset set = kept_glyphs(spec, kGlyphsHourContent, from.cache);
  set.name = "glyphs-hour";
  return set;
}
Dataset load_folder(const Source& from) { return load_folder_dataset(from.dir); }
Dataset load_synthetic(const Source&) { return synthetic_dataset({}); }

struct DatasetRow {
  const char* name;
  Dataset (*load)(const Source& from);
  const char* fingerprint;  // fingerprint of the whole published content; "": it is not known
  SetFacts (*facts)();      // null: they follow from the files, or from the one who asks for the set
};

constexpr std::array kDatasets = {
    DatasetRow{"mnist", load_mnist, "c6a075145c84df48", [] { return facts_of(mnist_spec()); }},
    DatasetRow{"fashion-mnist", load_fashion_mnist, "4f4f760f82d74035", [] { return facts_of(fashion_mnist_spec()); }},
    DatasetRow{"cifar10", load_cifar10, "4cba592b65076480", [] { return facts_of(cifar10_spec()); }},
    DatasetRow{"cifar100", load_cifar100, "", [] { return facts_of(cifar100_spec()); }},
    DatasetRow{"glyphs", load_glyphs, kGlyphsContent, [] { return facts_of(GlyphsSpec{}); }},
    DatasetRow{"glyphs-hour", load_glyphs_hour, kGlyphsHourContent, [] { return facts_of(glyphs_hour_spec()); }},
    DatasetRow{"folder", load_folder, "", nullptr},
    DatasetRow{"synthetic", load_synthetic, "faf848549cf3ce76", nullptr},
};

/// Throws DataError when the content is not the published one. MNIST and Fashion-MNIST have the same file names and
/// extents, so that only the content tells them apart; it also tells damaged or exchanged files of the right size.
void check_content(const Dataset& set, const DatasetRow& wanted, const std::filesystem::path& dir) {
  for (const DatasetRow& row : kDatasets) {
    if (set.name != row.name && set.fingerprint == row.fingerprint)
      throw DataError({dir.string(), "these files are another data set", set.name, row.name,
                       fmt::format("name the directory that holds {}, or load it as {}", set.name, row.name)});
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

std::optional<SetFacts> set_facts(std::string_view name) {
  for (const DatasetRow& row : kDatasets)
    if (row.name == name && row.facts) return row.facts();
  return std::nullopt;
}

Dataset load_dataset(std::string_view name, const std::filesystem::path& dir, int threads,
                     const std::filesystem::path& cache) {
  for (const DatasetRow& row : kDatasets) {
    if (row.name != name) continue;
    Dataset set = row.load({dir, threads, cache});
    check_content(set, row, dir);
    return set;
  }
  throw DataError({"data set", "unknown name", fmt::format("one of {}", fmt::join(dataset_names(), ", ")),
                   fmt::format("'{}'", name), ""});
}

}  // namespace kb
