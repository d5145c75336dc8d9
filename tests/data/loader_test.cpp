#include "data/loader.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "data/sets/synthetic.h"
#include "tests/support/few_threads.h"

namespace {

std::atomic<int64_t> allocations = 0;  // one test counts the allocations of the whole binary

}  // namespace

// These are not inlined, because g++ warns of free() as the wrong partner of a `new` whose body it does not see.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace kb::loader_test {

namespace {

using namespace std::chrono_literals;
using kb::BatchMemory;
using kb::Loader;
using kb::Order;

const kb::Dataset& noise() {
  static const kb::Dataset set =
      kb::synthetic_dataset({.shape = {2, 3, 5}, .classes = 7, .train_count = 53, .test_count = 21});
  return set;
}

/// Memory for `slots` batches of `rows` images.
struct Ring {
  Ring(int slots, int64_t rows) : weights(slots), labels(slots), bytes(slots) {
    for (int s = 0; s < slots; ++s) {
      weights[s].resize(rows);
      labels[s].resize(rows);
      bytes[s].resize(static_cast<size_t>(rows * noise().shape.size()));
      memory.push_back({bytes[s], labels[s], weights[s]});
    }
  }

  std::vector<std::vector<float>> weights;
  std::vector<std::vector<int32_t>> labels;
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<BatchMemory> memory;
};

/// A loader whose slots are the memory of a ring.
struct RingLoader : Loader {
  RingLoader(kb::BatchFill fill, const std::vector<BatchMemory>& memory, kb::LoaderOptions options = {})
      : Loader([fill = std::move(fill), &memory](int64_t step, int slot) { fill(step, memory[slot]); },
               static_cast<int>(memory.size()), options) {}
};

struct Batch {
  std::vector<double> pixels, weights;
  std::vector<int32_t> labels;
  bool operator==(const Batch&) const = default;
};

Batch copy(const BatchMemory& memory) {
  Batch out;
  out.pixels.assign(memory.pixels.begin(), memory.pixels.end());
  out.weights.assign(memory.weights.begin(), memory.weights.end());
  out.labels.assign(memory.labels.begin(), memory.labels.end());
  return out;
}

std::vector<Batch> batches(const Order& order, int64_t rows, int slots, int threads, int64_t first, int64_t end,
                           int64_t first_row = 0) {
  Ring ring(slots, rows);
  RingLoader loader(kb::gather_rows(noise().train, order, first_row), ring.memory, {first, end, threads});
  std::vector<Batch> out;
  for (int64_t step = first; step < end; ++step) {
    const kb::LoadedBatch batch = loader.next();
    BOOST_TEST(batch.step == step);
    BOOST_TEST(batch.wait_ms >= 0);
    out.push_back(copy(ring.memory.at(batch.slot)));
  }
  return out;
}

BOOST_AUTO_TEST_SUITE(data_loader)

BOOST_AUTO_TEST_CASE(a_batch_holds_the_rows_of_its_order) {
  const Order order = Order::training(4, 53, 8);
  const std::vector<Batch> got = batches(order, 8, 3, 1, 0, 13);
  for (int64_t step = 0; step < 13; ++step) {
    Batch expected;
    for (int64_t row = 0; row < 8; ++row) {
      const auto [sample, weight] = order.row(step, row);
      const auto image = noise().train.image(sample);
      expected.pixels.insert(expected.pixels.end(), image.begin(), image.end());
      expected.labels.push_back(noise().train.labels[sample]);
      expected.weights.push_back(weight);
    }
    BOOST_TEST((got[step] == expected));
  }
}

BOOST_AUTO_TEST_CASE(content_depends_on_the_step_alone) {
  const Order order = Order::training(4, 53, 8);
  const std::vector<Batch> base = batches(order, 8, 1, 0, 0, 40);
  for (const int threads : {0, 1, 2, 4}) {
    for (int slots = 1; slots <= 5; ++slots) {
      BOOST_TEST((batches(order, 8, slots, threads, 0, 40) == base));
      BOOST_TEST((batches(order, 8, slots, threads, 17, 40) == std::vector<Batch>(base.begin() + 17, base.end())));
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_minibatch_join_to_the_whole) {
  const Order order = Order::training(4, 53, 8);
  const std::vector<Batch> whole = batches(order, 8, 2, 1, 0, 9);
  std::vector<Batch> joined = batches(order, 3, 2, 1, 0, 9);
  const std::vector<Batch> rest = batches(order, 5, 2, 2, 0, 9, 3);
  for (size_t i = 0; i < joined.size(); ++i) {
    joined[i].pixels.insert(joined[i].pixels.end(), rest[i].pixels.begin(), rest[i].pixels.end());
    joined[i].labels.insert(joined[i].labels.end(), rest[i].labels.begin(), rest[i].labels.end());
    joined[i].weights.insert(joined[i].weights.end(), rest[i].weights.begin(), rest[i].weights.end());
  }
  BOOST_TEST((joined == whole));
}

BOOST_AUTO_TEST_CASE(evaluation_covers_the_split_once) {
  const Order order = Order::evaluation(53, 8);
  double count = 0;
  std::vector<double> pixels;
  for (const Batch& batch : batches(order, 8, 3, 2, 0, order.steps_per_epoch())) {
    for (size_t row = 0; row < 8; ++row) {
      count += batch.weights[row];
      if (batch.weights[row] == 0) continue;
      pixels.insert(pixels.end(), batch.pixels.begin() + row * 30, batch.pixels.begin() + (row + 1) * 30);
    }
  }
  BOOST_TEST(count == 53);
  BOOST_TEST((pixels == std::vector<double>(noise().train.pixels.begin(), noise().train.pixels.end())));
}

// The `in_use` batches that next() gave last must not be touched, however far ahead the threads could run.
BOOST_AUTO_TEST_CASE(batches_in_use_are_left_alone) {
  for (const auto& [slots, in_use] : {std::pair(1, 1), {2, 1}, {4, 1}, {2, 2}, {3, 3}, {5, 3}}) {
    for (const int threads : {1, 3}) {
      Ring ring(slots, 1);
      std::atomic<int64_t> filled = 0;
      RingLoader loader(
          [&](int64_t step, const BatchMemory& memory) {
            memory.labels[0] = static_cast<int32_t>(step);
            ++filled;
          },
          ring.memory, {.threads = threads, .in_use = in_use});
      std::vector<int> given;
      for (int64_t step = 0; step < 8; ++step) {
        given.push_back(loader.next().slot);
        const int64_t most = slots + std::max<int64_t>(0, step + 1 - in_use);
        while (filled < most) std::this_thread::yield();  // the threads fill the rest of the ring meanwhile
        std::this_thread::sleep_for(2ms);
        BOOST_TEST(filled == most);
        for (int64_t used = std::max<int64_t>(0, step + 1 - in_use); used <= step; ++used)
          BOOST_TEST(ring.labels[given[static_cast<size_t>(used)]][0] == used);
      }
    }
  }
  Ring ring(2, 1);
  BOOST_CHECK_THROW(Loader([](int64_t, int) {}, 2, {.in_use = 3}), std::logic_error);
}

// A program whose device holds the data set needs only the numbers of the samples.
BOOST_AUTO_TEST_CASE(a_batch_may_be_numbers_of_samples) {
  const Order order = Order::evaluation(21, 8);
  std::vector<int32_t> samples(8);
  std::vector<float> weights(8);
  const kb::BatchFill fill = kb::gather_rows(noise().test, order);
  fill(2, {{}, {}, weights, {}, samples});
  const std::vector<int32_t> expected = {16, 17, 18, 19, 20, 20, 20, 20};
  BOOST_TEST(samples == expected);
  BOOST_TEST(weights[4] == 1);
  BOOST_TEST(weights[5] == 0);
  BOOST_CHECK_THROW(fill(2, {{}, {}, weights, {}, std::span(samples).first(7)}), std::logic_error);
}

// Some steps take longer than others, so that the threads finish batches out of order.
BOOST_AUTO_TEST_CASE(batches_come_in_order) {
  Ring ring(5, 1);
  RingLoader loader(
      [](int64_t step, const BatchMemory& memory) {
        std::this_thread::sleep_for(std::chrono::microseconds(step % 3 == 0 ? 900 : 50));
        memory.labels[0] = static_cast<int32_t>(step);
      },
      ring.memory, {.first_step = 7, .end_step = 90, .threads = 3});
  for (int64_t step = 7; step < 90; ++step) BOOST_TEST(ring.labels[loader.next().slot][0] == step);
}

// The clock goes on when a batch is filled, and counts how often it was read. next() reads it twice.
std::atomic<int64_t> milliseconds = 0, readings = 0;
std::chrono::steady_clock::time_point read_test_clock() {
  const std::chrono::steady_clock::time_point now{std::chrono::milliseconds(milliseconds)};
  ++readings;
  return now;
}

// Filling a step takes 20 ms by the test's clock, and begins once next() waits for it.
BOOST_AUTO_TEST_CASE(the_wait_is_told) {
  Ring ring(2, 1);
  const auto slow = [](int64_t step, const BatchMemory&) {
    while (readings < 2 * step + 1) std::this_thread::yield();
    milliseconds += 20;
  };
  for (const int threads : {0, 1, 2}) {
    readings = 0;
    RingLoader loader(slow, ring.memory, {.end_step = 5, .threads = threads, .now = read_test_clock});
    for (int64_t step = 0; step < 5; ++step) BOOST_TEST(loader.next().wait_ms == 20);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_ready_is_not_waited_for) {
  Ring ring(2, 1);
  std::atomic<int64_t> filled = 0;
  const auto quick = [&](int64_t, const BatchMemory&) {
    milliseconds += 20;
    ++filled;
  };
  RingLoader loader(quick, ring.memory, {.now = read_test_clock});
  while (filled < 2) std::this_thread::yield();  // the ring is full
  BOOST_TEST(loader.next().wait_ms == 0);
}

BOOST_AUTO_TEST_CASE(where_no_more_threads_can_be_made_fewer_fill_or_none) {
  for (const int more : {0, 1}) {
    const kb::test::FewThreads few(more);
    Ring ring(4, 1);
    std::set<std::thread::id> fillers;
    std::mutex mutex;
    RingLoader loader(
        [&](int64_t step, const BatchMemory& memory) {
          const std::scoped_lock lock(mutex);
          fillers.insert(std::this_thread::get_id());
          memory.labels[0] = static_cast<int32_t>(step);
        },
        ring.memory, {.threads = 3});
    for (int64_t step = 0; step < 9; ++step) BOOST_TEST(ring.labels[loader.next().slot][0] == step);
    const std::scoped_lock lock(mutex);
    BOOST_TEST(fillers.size() == 1u);
    BOOST_TEST(fillers.contains(std::this_thread::get_id()) == (more == 0));
  }
}

BOOST_AUTO_TEST_CASE(a_failure_arrives_at_its_own_step) {
  for (const int threads : {0, 1, 2, 4}) {
    Ring ring(4, 1);
    std::atomic<int> calls = 0;
    RingLoader loader(
        [&calls](int64_t step, const BatchMemory&) {
          ++calls;
          if (step > 2) std::this_thread::sleep_for(2ms);  // it fails after step 2, whose failure stands
          if (step >= 2) throw std::runtime_error("sample " + std::to_string(step) + " is broken");
        },
        ring.memory, {.threads = threads});
    BOOST_TEST(loader.next().step == 0);
    std::this_thread::sleep_for(5ms);
    BOOST_TEST(loader.next().step == 1);
    const auto is_it = [](const std::runtime_error& e) { return e.what() == std::string("sample 2 is broken"); };
    BOOST_CHECK_EXCEPTION(loader.next(), std::runtime_error, is_it);
    BOOST_CHECK_EXCEPTION(loader.next(), std::runtime_error, is_it);
    BOOST_TEST(calls < 8);  // no thread goes on behind a failure
  }
}

// A second try might succeed; nobody knows what the first one left.
BOOST_AUTO_TEST_CASE(a_failure_stays) {
  for (const int threads : {0, 1}) {
    Ring ring(2, 1);
    std::atomic<int> calls = 0;
    const auto fails_once = [&calls](int64_t, const BatchMemory&) {
      if (calls++ == 0) throw std::runtime_error("broken");
    };
    RingLoader loader(fails_once, ring.memory, {.threads = threads});
    BOOST_CHECK_THROW(loader.next(), std::runtime_error);
    BOOST_CHECK_THROW(loader.next(), std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(it_shuts_down_at_any_moment) {
  for (int round = 0; round < 200; ++round) {
    Ring ring(1 + round % 3, 8);
    RingLoader loader(kb::gather_rows(noise().train, Order::training(1, 53, 8)), ring.memory, {.threads = round % 4});
    for (int i = 0; i < round % 5; ++i) BOOST_TEST(loader.next().step == i);
  }
  Ring ring(2, 1);
  RingLoader failed([](int64_t, const BatchMemory&) { throw std::runtime_error("never asked for"); }, ring.memory);
}

BOOST_AUTO_TEST_CASE(nothing_is_allocated_after_construction) {
  Ring ring(3, 8);
  RingLoader loader(kb::gather_rows(noise().train, Order::training(1, 53, 8)), ring.memory, {.end_step = 500});
  loader.next();
  const int64_t before = allocations;
  for (int i = 1; i < 500; ++i) loader.next();
  BOOST_TEST(allocations == before);
}

BOOST_AUTO_TEST_CASE(misuse_is_refused) {
  Ring ring(1, 8);
  const auto fill = kb::gather_rows(noise().train, Order::training(1, 53, 8));
  BOOST_CHECK_THROW(Loader([](int64_t, int) {}, 0), std::logic_error);
  BOOST_CHECK_THROW(kb::gather_rows(noise().train, Order::training(1, 54, 8)), std::logic_error);
  RingLoader one(fill, ring.memory, {.end_step = 1});
  one.next();
  BOOST_CHECK_THROW(one.next(), std::logic_error);
  BOOST_CHECK_THROW(kb::gather_rows(noise().train, Order::training(1, 53, 8), 1)(0, ring.memory[0]), std::logic_error);
  BOOST_CHECK_THROW(kb::gather_rows(noise().train, Order::training(1, 53, 8), -1)(0, ring.memory[0]), std::logic_error);
  BOOST_CHECK_THROW(kb::gather_rows(noise().train, Order::training(1, 53, 8), 0, {{.cutout = 2}, 1, {9}}),
                    std::logic_error);  // one colour for two channels
  BatchMemory short_weights = ring.memory[0];
  short_weights.weights = short_weights.weights.first(7);
  BOOST_CHECK_THROW(fill(0, short_weights), std::logic_error);
  BatchMemory short_pixels = ring.memory[0];
  short_pixels.pixels = std::span(ring.bytes[0]).first(8 * 30 - 1);
  BOOST_CHECK_THROW(fill(0, short_pixels), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::loader_test
