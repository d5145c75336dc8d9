// Sources of samples: what a source is told that gives one sample at a time, padding, and that samples to judge by are
// not augmented.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "data/sets/synthetic.h"
#include "graph/error.h"
#include "recipes/task/image_task.h"
#include "recipes/task/ragged_source.h"
#include "recipes/task/source.h"
#include "recipes/task/validation.h"

namespace kb::sample_source_test {

BOOST_AUTO_TEST_SUITE(sample_source)

namespace {

struct Read {
  int64_t number, seed, epoch;
  bool operator==(const Read&) const = default;
};

// Each sample is what its read was told.
struct Echo : SampleSource {
  Echo() : SampleSource({sizeof(Read)}) {}
  int64_t count() const override { return 8; }
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override {
    const Read told{sample.number, static_cast<int64_t>(sample.seed), sample.epoch};
    std::memcpy(fields[0].data(), &told, sizeof told);
  }
};

std::vector<Read> batch_of(const Order& order, int64_t step, int64_t first_row, size_t rows) {
  std::vector<Read> reads(rows);
  std::vector<float> weights(rows);
  Echo().gather(order, first_row)(step, {{std::as_writable_bytes(std::span(reads))}, weights});
  return reads;
}

// Sample i has `each` + i % 3 values i in its first field and two in its second.
std::shared_ptr<const Source> ragged(int64_t count, int32_t each) {
  RaggedTokens first, second;
  for (int32_t i = 0; i < count; ++i) {
    first.append(std::vector<int32_t>(static_cast<size_t>(each + i % 3), i));
    second.append(std::vector<int32_t>{i, i});
  }
  return std::make_shared<RaggedSource>(std::vector{first, second}, "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_sample_is_read_with_seed_and_epoch) {
  const Order order = Order::training(7, 8, 4);  // two steps an epoch
  for (int64_t step = 0; step < 6; ++step) {
    const std::vector<Read> whole = batch_of(order, step, 0, 4);
    for (size_t row = 0; row < 4; ++row)
      BOOST_TEST((whole[row] == Read{order.row(step, static_cast<int64_t>(row)).sample, 7, step / 2}));
    const std::vector<Read> second = batch_of(order, step, 2, 2);  // the second of two workers
    BOOST_TEST((second[0] == whole[2] && second[1] == whole[3]));
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_changes_its_minibatch_goes_on_counting_epochs) {
  const Order order = Order::training(7, 8, 8).after(Order::training(7, 8, 4), 6);
  BOOST_TEST(batch_of(order, 6, 0, 1)[0].epoch == 3);
  BOOST_TEST(batch_of(order, 7, 0, 1)[0].epoch == 4);
}

BOOST_AUTO_TEST_CASE(ragged_samples_are_padded_to_the_length_of_the_batch) {
  const std::shared_ptr<const Source> source = ragged(4, 1);
  BOOST_TEST(source->length(0) == 2);  // of its second field
  BOOST_TEST(source->length(2) == 3);
  BOOST_TEST(source->ragged_values(2) == 5);
  const auto read = [&](int64_t length) {
    std::vector<int32_t> values(static_cast<size_t>(4 * length), 9), lengths(4, 9);
    std::vector<float> weights(4);
    const auto bytes = [](std::vector<int32_t>& of) { return std::as_writable_bytes(std::span(of)); };
    source->gather(Order::evaluation(4, 4), 0)(0, {{bytes(values), bytes(lengths), {}, {}}, weights});
    values.insert(values.end(), lengths.begin(), lengths.end());
    return values;
  };
  BOOST_TEST(read(4) == (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 0, 0, 2, 2, 2, 0, 3, 0, 0, 0, 1, 2, 3, 1}));
  BOOST_CHECK_THROW(read(2), Error);
  RaggedTokens one, two;
  one.append(std::vector{1}), two.append(std::vector{1}), two.append(std::vector{1});
  BOOST_CHECK_THROW(RaggedSource({one, two}, ""), Error);
}

// Samples that are held out are judged as they are, without the training part's augmentation.
BOOST_AUTO_TEST_CASE(samples_held_out_are_the_plain_ones) {
  Task task;
  task.train_count = 30;
  task.train = ragged(30, 100), task.plain = ragged(30, 1), task.test = ragged(3, 1);
  const std::shared_ptr<const Source> plain = task.plain;
  const Task held = with_validation(task, 10);
  BOOST_TEST(held.train->length(0) >= 100);
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t number = held.valid->number_before(i);
    BOOST_TEST(held.valid->length(i) == plain->length(number));
    BOOST_TEST(held.valid->ragged_values(i) == plain->ragged_values(number));
    if (i > 0) BOOST_TEST(number > held.valid->number_before(i - 1));
  }
}

// The loader mirrors half of the training images, and none of those on which a training is judged.
BOOST_AUTO_TEST_CASE(images_to_judge_by_are_not_augmented) {
  const InputSpec input{"synthetic", {1, 4, 6}, 3, {0.5}, {0.25}, 20, 20};
  const auto data = std::make_shared<const Dataset>(synthetic_dataset({input.shape, 3, 20, 20, 1}));
  Task task;
  set_image_sources(task, input, data, {.spec = {.flip = true}, .seed = 1, .fill = {0}, .in_loader = true});
  const auto pixels_of = [&](const Source& source) {
    std::vector<uint8_t> pixels(20 * 24);
    std::vector<int32_t> labels(20), window(60), box(80), partner(20);
    std::vector<float> mix(20), weights(20);
    const auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
    source.gather(Order::evaluation(20, 20), 0)(
        0, {{bytes(pixels), bytes(labels), bytes(window), bytes(box), bytes(partner), bytes(mix)}, weights});
    return pixels;
  };
  const auto split_of = [](const Split& split) {
    return std::vector<uint8_t>(split.pixels.begin(), split.pixels.end());
  };
  BOOST_TEST((pixels_of(*task.test) == split_of(data->test)));
  BOOST_TEST((pixels_of(*task.plain) == split_of(data->train)));
  BOOST_TEST((pixels_of(*task.train) != split_of(data->train)));
}

BOOST_AUTO_TEST_CASE(an_evaluation_reads_without_either) {
  for (const int64_t step : {0, 1, 2})
    for (const Read& read : batch_of(Order::evaluation(8, 3), step, 0, 3))
      BOOST_TEST((read.seed == 0 && read.epoch == 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sample_source_test
