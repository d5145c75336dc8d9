// image_feed loads the images of a folder or a pack as a training does, with the loader's threads, for image_feed.py to
// time beside others: image_feed DATA train|jitter|eval|floats THREADS MINIBATCH. Each line of standard input, numbers
// W and N, is a turn: W minibatches that are not timed, then N. It answers with the images of the turn and the seconds
// of the N.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "data/images/image_set.h"
#include "data/loader.h"

namespace {

constexpr int64_t kSide = 224;

// Mirrors images in the loader and makes floats where a training's graph does both.
kb::Augmentation augmentation_of(const std::string& what) {
  kb::Augmentation augmentation{.seed = 1, .in_loader = true};
  augmentation.spec.resized_crop = augmentation.spec.flip = what != "eval";
  augmentation.spec.jitter = what == "jitter";
  return augmentation;
}

void normalise(const std::vector<uint8_t>& pixels, std::vector<float>& floats) {
  const kb::ChannelStatistics statistics = kb::imagenet_statistics();
  const size_t plane = kSide * kSide;
  floats.resize(pixels.size());
  for (size_t at = 0; at < pixels.size(); at += plane) {
    const size_t channel = at / plane % 3;
    const auto scale = static_cast<float>(1 / (255 * statistics.stddev[channel]));
    const auto shift = static_cast<float>(statistics.mean[channel] / statistics.stddev[channel]);
    for (size_t i = at; i < at + plane; ++i) floats[i] = static_cast<float>(pixels[i]) * scale - shift;
  }
}

struct Batch {
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
  std::vector<float> weights;
};

void feed(const std::string& data, const std::string& what, int threads, int64_t minibatch) {
  const kb::Dataset set = kb::image_set(kb::open_image_store({.data = data, .cache = {}, .threads = 1}), kSide);
  const kb::Split& split = what == "eval" ? set.test : set.train;
  const kb::Order order = kb::Order::training(1, split.count(), minibatch);
  const kb::BatchFill fill = kb::gather_rows(split, order, 0, augmentation_of(what));
  const int slots = threads + 2;
  std::vector<Batch> ring(static_cast<size_t>(slots));
  const auto rows = static_cast<size_t>(minibatch);
  for (Batch& batch : ring)
    batch = {std::vector<uint8_t>(rows * 3 * kSide * kSide), std::vector<int32_t>(rows), std::vector<float>(rows)};
  kb::Loader loader(
      [&](int64_t step, int slot) {
        Batch& batch = ring[static_cast<size_t>(slot)];
        fill(step, {batch.pixels, batch.labels, batch.weights});
      },
      slots, {.threads = threads});
  std::vector<float> floats;
  const auto next = [&] {
    const Batch& batch = ring[static_cast<size_t>(loader.next().slot)];
    if (what == "floats") normalise(batch.pixels, floats);
  };
  std::cout << "ready" << std::endl;
  for (int64_t warm = 0, timed = 0; std::cin >> warm >> timed;) {
    for (int64_t i = 0; i < warm; ++i) next();
    const auto began = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < timed; ++i) next();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    std::cout << (warm + timed) * minibatch << " " << timed * minibatch / seconds.count() << std::endl;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::cerr << "usage: image_feed DATA train|jitter|eval|floats THREADS MINIBATCH\n";
    return 2;
  }
  try {
    feed(words[1], words[2], std::atoi(words[3]), std::atoll(words[4]));
  } catch (const std::exception& error) {
    std::cerr << "image_feed: " << error.what() << "\n";
    return 1;
  }
}
