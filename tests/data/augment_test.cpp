#include "data/augment.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/hash_random.h"
#include "data/loader.h"
#include "data/sets/synthetic.h"

namespace kb::augment_test {

namespace {

using kb::Augmentation;
using kb::AugmentRecord;
using kb::AugmentSpec;
using kb::Order;

constexpr kb::ImageShape kShape = {3, 8, 10};
constexpr AugmentSpec kAll = {.crop = true, .flip = true, .pad = 2, .cutout = 4, .mixup = 0.4};

/// Returns the augmented image by its definition, pixel by pixel.
std::vector<uint8_t> by_definition(const AugmentRecord& r, const kb::ImageShape& shape,
                                   const std::vector<uint8_t>& fill, std::span<const uint8_t> image) {
  std::vector<uint8_t> out;
  for (int64_t c = 0; c < shape.channels; ++c) {
    for (int64_t i = 0; i < shape.height; ++i) {
      for (int64_t j = 0; j < shape.width; ++j) {
        const int64_t row = i + r.window[0], column = (r.window[2] != 0 ? shape.width - 1 - j : j) + r.window[1];
        const bool outside = row < 0 || row >= shape.height || column < 0 || column >= shape.width;
        const bool covered = i >= r.box[0] && i < r.box[2] && j >= r.box[1] && j < r.box[3];
        out.push_back(covered   ? fill.at(c)
                      : outside ? uint8_t{0}
                                : image[(c * shape.height + row) * shape.width + column]);
      }
    }
  }
  return out;
}

BOOST_AUTO_TEST_SUITE(data_augment)

BOOST_AUTO_TEST_CASE(pixels_follow_the_record) {
  std::vector<uint8_t> image(kShape.size());
  std::iota(image.begin(), image.end(), uint8_t{1});
  const std::vector<uint8_t> fill = {250, 251, 252};
  for (int32_t top : {-9, -8, -2, 0, 3, 8, 20}) {
    for (int32_t left : {-11, -10, -3, 0, 4, 10, 30}) {
      for (int32_t mirrored : {0, 1}) {
        const AugmentRecord record{{top, left, mirrored}, {1, 2, 5, 7}, 1};
        std::vector<uint8_t> out(image.size(), 99);
        kb::augment_image(record, kShape, fill, image, out);
        BOOST_TEST((out == by_definition(record, kShape, fill, image)), top << " " << left << " " << mirrored);
      }
    }
  }
  std::vector<uint8_t> out(image.size());
  kb::augment_image({}, kShape, {}, image, out);
  BOOST_TEST((out == image));
}

BOOST_AUTO_TEST_CASE(a_record_is_a_function_of_seed_epoch_and_sample) {
  const auto record = [](uint64_t seed, int64_t epoch, int64_t sample) {
    return kb::augment_record(kAll, kShape, seed, epoch, sample);
  };
  BOOST_TEST((record(1, 2, 3) == record(1, 2, 3)));
  int differ = 0;
  for (int64_t i = 0; i < 100; ++i) {
    differ += !(record(1, 2, i) == record(1, 2, i + 1)) + !(record(1, 2, i) == record(1, 3, i)) +
              !(record(1, 2, i) == record(2, 2, i));
  }
  BOOST_TEST(differ >= 298);
}

// Runs are repeated by later versions, so that draws have fixed bits. A hash of them all stands for them.
BOOST_AUTO_TEST_CASE(the_draws_are_fixed) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const AugmentRecord r = kb::augment_record(kAll, kShape, 1, i % 3, i);
    for (const int32_t value : r.window) hash = kb::hash_words(hash, value);
    for (const int32_t value : r.box) hash = kb::hash_words(hash, value);
    hash = kb::hash_words(hash, r.mix * 65536, kb::mix_partner(1, i, 32, 16, i % 16));
  }
  BOOST_TEST(hash == 0xaa13b53e44b93d3bu);
}

BOOST_AUTO_TEST_CASE(one_kind_does_not_change_another) {
  const auto with = [](AugmentSpec spec) { return kb::augment_record(spec, kShape, 7, 1, 42); };
  const AugmentRecord all = with(kAll);
  BOOST_TEST((with({.crop = true, .pad = 2}).window == std::array<int32_t, 3>{all.window[0], all.window[1], 0}));
  BOOST_TEST((with({.flip = true}).window == std::array<int32_t, 3>{0, 0, all.window[2]}));
  BOOST_TEST((with({.cutout = 4}).box == all.box));
  BOOST_TEST(with({.mixup = 0.4}).mix == all.mix);
  BOOST_TEST((with({}) == AugmentRecord{}));
}

BOOST_AUTO_TEST_CASE(distributions) {
  constexpr int64_t kDraws = 40000;
  const AugmentSpec spec = {.crop = true, .flip = true, .pad = 2, .cutout = 4};
  std::map<int32_t, int> tops, lefts, centres, columns;
  int mirrored = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const AugmentRecord r = kb::augment_record(spec, kShape, 1, 0, i);
    ++tops[r.window[0]], ++lefts[r.window[1]];
    mirrored += r.window[2];
    // A box with a side of 4 covers the rows from centre - 2 up to but not including centre + 2, cut at the border.
    ++centres[r.box[0] > 0 ? r.box[0] + 2 : r.box[2] - 2];
    ++columns[r.box[1] > 0 ? r.box[1] + 2 : r.box[3] - 2];
    BOOST_TEST((r.box[1] == 0 || r.box[3] == std::min<int64_t>(r.box[1] + 4, kShape.width)));
    BOOST_TEST((r.box[0] >= 0 && r.box[0] < r.box[2] && r.box[2] <= kShape.height && r.box[1] >= 0 &&
                r.box[1] < r.box[3] && r.box[3] <= kShape.width));
  }
  BOOST_TEST(std::abs(mirrored - kDraws / 2) < 600);  // 6 standard deviations
  for (const auto& hits : {tops, lefts}) {
    BOOST_TEST((hits.begin()->first == -2 && hits.rbegin()->first == 2 && hits.size() == 5));
    for (const auto& [at, count] : hits) BOOST_TEST(std::abs(count - kDraws / 5) < 500);
  }
  BOOST_TEST((centres.begin()->first == 0 && centres.rbegin()->first == 7 && centres.size() == 8));
  for (const auto& [at, count] : centres) BOOST_TEST(std::abs(count - kDraws / 8) < 420);
  BOOST_TEST(columns.size() == 10u);
  for (const auto& [at, count] : columns) BOOST_TEST(std::abs(count - kDraws / 10) < 370);
}

// The distribution Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)).
BOOST_AUTO_TEST_CASE(mixup_weights_are_beta) {
  constexpr int64_t kDraws = 40000;
  for (const double alpha : {0.01, 0.2, 1.0, 3.0, 40.0}) {
    double sum = 0, squares = 0;
    int low = 0;
    for (int64_t i = 0; i < kDraws; ++i) {
      const double x = kb::augment_record({.mixup = alpha}, kShape, 1, 0, i).mix;
      BOOST_TEST((x >= 0 && x <= 1));
      sum += x, squares += (x - 0.5) * (x - 0.5);
      low += x < 0.25;
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    BOOST_TEST(std::abs(sum / kDraws - 0.5) < 6 * std::sqrt(variance / kDraws), "alpha " << alpha);
    BOOST_TEST(std::abs(squares / kDraws / variance - 1) < 0.05, "alpha " << alpha);
    if (alpha == 1) BOOST_TEST(std::abs(low / double{kDraws} - 0.25) < 0.013);  // uniform
  }
}

BOOST_AUTO_TEST_CASE(partners_are_a_permutation_of_the_workers_rows) {
  std::set<std::vector<int32_t>> seen;
  for (int64_t i = 0; i < 50; ++i) {  // 25 steps of two workers
    std::vector<int32_t> partners;
    for (int64_t row = 0; row < 16; ++row) partners.push_back(kb::mix_partner(1, i / 2, i % 2 * 16, 16, row));
    std::vector<int32_t> sorted = partners, expected(16);
    std::sort(sorted.begin(), sorted.end());
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(sorted == expected);
    seen.insert(partners);
  }
  BOOST_TEST(seen.size() == 50u);
  BOOST_TEST(kb::mix_partner(1, 0, 0, 1, 0) == 0);
}

/// A batch in memory, with its augmentation records.
struct Loaded {
  explicit Loaded(int64_t rows)
      : pixels(rows * kShape.size()),
        labels(rows),
        windows(3 * rows),
        boxes(4 * rows),
        partners(rows),
        weights(rows),
        mix(rows) {}
  kb::BatchMemory memory() { return {std::span<uint8_t>(pixels), labels, weights, {windows, boxes, partners, mix}}; }
  bool operator==(const Loaded&) const = default;

  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels, windows, boxes, partners;
  std::vector<float> weights, mix;
};

const kb::Dataset& noise() {
  static const kb::Dataset set = kb::synthetic_dataset({.shape = kShape, .train_count = 53, .test_count = 8});
  return set;
}

Augmentation all(bool in_loader) { return {kAll, 5, {10, 20, 30}, in_loader}; }

BOOST_AUTO_TEST_CASE(the_loaders_pixels_are_the_records_applied) {
  const Order order = Order::training(4, 53, 8);
  const auto graph = kb::gather_rows(noise().train, order, 0, all(false));
  const auto loader = kb::gather_rows(noise().train, order, 0, all(true));
  for (int64_t step = 0; step < 20; ++step) {
    Loaded raw(8), moved(8);
    graph(step, raw.memory());
    loader(step, moved.memory());
    BOOST_TEST((moved.windows == std::vector<int32_t>(24) && moved.boxes == std::vector<int32_t>(32)));
    BOOST_TEST((moved.mix == raw.mix && moved.partners == raw.partners && moved.labels == raw.labels));
    for (int64_t row = 0; row < 8; ++row) {
      AugmentRecord record;
      std::copy_n(raw.windows.begin() + 3 * row, 3, record.window.begin());
      std::copy_n(raw.boxes.begin() + 4 * row, 4, record.box.begin());
      const auto size = static_cast<size_t>(kShape.size());
      const std::vector<uint8_t> expected =
          by_definition(record, kShape, {10, 20, 30}, std::span(raw.pixels).subspan(row * size, size));
      BOOST_TEST(std::equal(expected.begin(), expected.end(), moved.pixels.begin() + row * size));
    }
  }
}

// A process that owns some rows of the minibatch draws the records that one process with all rows draws for them.
BOOST_AUTO_TEST_CASE(any_split_of_a_minibatch_has_the_same_records) {
  const Order order = Order::training(4, 53, 12);
  for (const bool in_loader : {false, true}) {
    for (int64_t step = 0; step < 9; ++step) {
      Loaded whole(12);
      kb::gather_rows(noise().train, order, 0, all(in_loader))(step, whole.memory());
      for (const int64_t rows : {1, 3, 6}) {
        for (int64_t first = 0; first < 12; first += rows) {
          Loaded part(rows);
          kb::gather_rows(noise().train, order, first, all(in_loader))(step, part.memory());
          const auto same = [&](const auto& some, const auto& every, int64_t each) {
            return std::equal(some.begin(), some.end(), every.begin() + first * each);
          };
          BOOST_TEST((same(part.windows, whole.windows, 3) && same(part.boxes, whole.boxes, 4) &&
                      same(part.mix, whole.mix, 1) && same(part.pixels, whole.pixels, kShape.size())));
        }
      }
    }
  }
}

// The test reads as a trainer does, from a ring that threads fill, with every kind of augmentation.
BOOST_AUTO_TEST_CASE(any_number_of_threads_gives_the_same_batches) {
  const Order order = Order::training(4, 53, 12);
  for (const bool in_loader : {false, true}) {
    std::vector<Loaded> base;
    for (const int threads : {0, 1, 2, 4}) {
      std::vector<Loaded> ring(static_cast<size_t>(threads) + 2, Loaded(12));
      std::vector<kb::BatchMemory> memory;
      for (Loaded& slot : ring) memory.push_back(slot.memory());
      const kb::BatchFill fill = kb::gather_rows(noise().train, order, 0, all(in_loader));
      kb::Loader loader([&](int64_t step, int slot) { fill(step, memory[static_cast<size_t>(slot)]); },
                        static_cast<int>(memory.size()), {.threads = threads});
      for (size_t step = 0; step < 40; ++step) {
        const Loaded& got = ring.at(static_cast<size_t>(loader.next().slot));
        if (threads == 0)
          base.push_back(got);
        else
          BOOST_TEST((got == base.at(step)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_mean_pixel) {
  BOOST_TEST((kb::mean_pixel(std::vector<double>{0, 0.4914, 0.5, 1}) == std::vector<uint8_t>{0, 125, 128, 255}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::augment_test
