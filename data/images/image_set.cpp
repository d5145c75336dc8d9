#include "data/images/image_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "data/augment.h"
#include "data/data_file.h"
#include "data/error.h"
#include "data/image_files.h"
#include "data/images/colour.h"
#include "data/images/open_image.h"
#include "data/images/pack.h"
#include "data/images/view.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

class FolderStore : public ImageStore {
 public:
  FolderStore(fs::path dir, ImageIndex index) : ImageStore(std::move(index)), dir_(std::move(dir)) {}

  std::span<const uint8_t> file(const ImageEntry& entry, Bytes& memory) const override {
    const DataFile file(dir_ / index_.name(entry));
    memory.resize(file.size());
    file.read(0, std::span(memory));
    return memory;
  }

 private:
  fs::path dir_;
};

// The images of one part as a network sees them: a square of pixels each.
class ViewedImages : public ImageFiles {
 public:
  ViewedImages(std::shared_ptr<const ImageStore> store, const std::vector<ImageEntry>& entries, int64_t side)
      : store_(std::move(store)), entries_(entries), side_(side) {}

  void read(int64_t sample, const ImageDraw& draw, std::span<uint8_t> pixels) const override {
    const auto [first, last] =
        std::equal_range(entries_.begin(), entries_.end(), entries_[static_cast<size_t>(sample)],
                         [](const ImageEntry& a, const ImageEntry& b) { return a.label < b.label; });
    const int64_t begin = first - entries_.begin(), count = last - first;
    for (int64_t next = 0; next < count; ++next) {
      const int64_t image = begin + (sample - begin + next) % count;
      try {
        view(entries_[static_cast<size_t>(image)], sample, draw, pixels);
        return;
      } catch (const UnreadableImage& error) {
        const std::scoped_lock lock(mutex_);
        damage_.emplace(image, error.what());
      }
    }
    throw DataError({std::string(store_->index().name(*first)), "no image of its class can be decoded",
                     fmt::format("one of {}", count), "none", ""});
  }

  std::vector<std::string> replaced() const override {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& [image, reason] : damage_)
      lines.push_back(fmt::format("{}: {}", store_->index().name(entries_[static_cast<size_t>(image)]), reason));
    return lines;
  }

  int64_t held_bytes() const override {
    int64_t most = 0;
    for (const ImageEntry& entry : entries_) most = std::max(most, kb::held_bytes(entry));
    return most;
  }

 private:
  void view(const ImageEntry& entry, int64_t sample, const ImageDraw& draw, std::span<uint8_t> pixels) const {
    thread_local Bytes memory;
    thread_local Resampler resampler;
    const std::unique_ptr<ImageDecoder> image = open_image(store_->file(entry, memory));
    const ImageView seen = draw.spec.resized_crop ? random_view(image->size(), side_, draw.seed, draw.epoch, sample)
                                                  : centre_view(image->size(), side_);
    render(*image, seen, resampler, pixels);
    const AugmentSpec& spec = draw.spec;
    if (spec.jitter || spec.lighting)
      change_colours(draw_colour_change(spec.jitter, spec.lighting, mean_colour(pixels), draw.seed, draw.epoch, sample),
                     pixels);
  }

  std::shared_ptr<const ImageStore> store_;
  const std::vector<ImageEntry>& entries_;  // one part of the store's index
  int64_t side_;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::string> damage_;  // the reason why an image cannot be decoded, keyed by its number
};

Split split_of(const std::shared_ptr<const ImageStore>& store, const std::vector<ImageEntry>& entries, int64_t side) {
  Split split;
  split.shape = {3, side, side};
  for (const ImageEntry& entry : entries) split.labels.push_back(entry.label);
  split.files = std::make_shared<ViewedImages>(store, entries, side);
  return split;
}

}  // namespace

ChannelStatistics imagenet_statistics() { return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}; }

bool has_image_set(const fs::path& data) {
  std::error_code error;
  return fs::is_regular_file(data, error) || !find_image_folder(data).empty();
}

std::shared_ptr<const ImageStore> open_image_store(const ImageSetPlace& place) {
  std::error_code error;
  if (fs::is_regular_file(place.data, error)) return open_pack(place.data);
  const fs::path dir = find_image_folder(place.data);
  if (dir.empty())
    throw DataError({place.data.empty() ? "data set imagenet" : place.data.string(), "no images were found",
                     "a pack, or DIR/train/CLASS/*.JPEG and DIR/val/CLASS/*.JPEG",
                     place.data.empty() ? "no folder was named" : "", "--data DIR, or --data FILE for a pack"});
  return std::make_shared<FolderStore>(dir, index_of_folder(dir, place.cache, place.threads));
}

Dataset image_set(std::shared_ptr<const ImageStore> store, int64_t side) {
  const ImageIndex& index = store->index();
  Dataset set;
  set.name = "imagenet";
  set.shape = {3, side, side};
  set.class_names = index.classes;
  set.statistics = imagenet_statistics();
  set.fingerprint = index_fingerprint(index);
  set.note = passed_over_note(index.passed);
  set.train = split_of(store, index.train, side);
  set.test = split_of(store, index.test, side);
  return set;
}

}  // namespace kb
