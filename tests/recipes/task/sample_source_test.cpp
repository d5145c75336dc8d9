// A source that gives one sample at a time is told what an augmentation may depend on: the sample's number, the seed
// and the epoch.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "recipes/task/source.h"

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

BOOST_AUTO_TEST_CASE(an_evaluation_reads_without_either) {
  for (const int64_t step : {0, 1, 2})
    for (const Read& read : batch_of(Order::evaluation(8, 3), step, 0, 3))
      BOOST_TEST((read.seed == 0 && read.epoch == 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sample_source_test
