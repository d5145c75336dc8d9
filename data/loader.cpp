#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace kb {
namespace {

void check_memory(const Split& split, const Order& order, int64_t first_row, const BatchMemory& memory) {
  const auto rows = static_cast<int64_t>(memory.labels.size());
  const auto pixels = std::visit([](auto span) { return static_cast<int64_t>(span.size()); }, memory.pixels);
  if (pixels == rows * split.shape.size() && memory.weights.size() == memory.labels.size() && first_row >= 0 &&
      first_row + rows <= order.minibatch()) {
    return;
  }
  throw std::logic_error(
      fmt::format("batch memory of {} labels, {} weights, {} pixels at row {} does not fit a "
                  "minibatch of {} rows of {} pixels",
                  rows, memory.weights.size(), pixels, first_row, order.minibatch(), split.shape.size()));
}

}  // namespace

BatchFill gather_rows(const Split& split, const Order& order, int64_t first_row) {
  return [&split, order, first_row](int64_t step, const BatchMemory& memory) {
    check_memory(split, order, first_row, memory);
    for (size_t row = 0; row < memory.labels.size(); ++row) {
      const auto [sample, weight] = order.row(step, first_row + static_cast<int64_t>(row));
      const std::span<const uint8_t> image = split.image(sample);
      std::visit([&](auto pixels) { std::ranges::copy(image, pixels.begin() + row * image.size()); }, memory.pixels);
      memory.labels[row] = split.labels[sample];
      memory.weights[row] = weight;
    }
  };
}

Loader::Loader(BatchFill fill, std::vector<BatchMemory> slots, LoaderOptions options)
    : fill_(std::move(fill)),
      slots_(std::move(slots)),
      options_(options),
      next_step_(options.first_step),
      filled_end_(options.first_step),
      free_end_(options.first_step + static_cast<int64_t>(slots_.size())) {
  if (slots_.empty()) throw std::logic_error("a loader needs at least one slot");
  if (options_.prefetch) thread_ = std::jthread([this](const std::stop_token& stop) { prefetch(stop); });
}

int Loader::slot_of(int64_t step) const {
  return static_cast<int>((step - options_.first_step) % static_cast<int64_t>(slots_.size()));
}

void Loader::prefetch(const std::stop_token& stop) {
  for (int64_t step = options_.first_step; more(step); ++step) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return step < free_end_; })) return;
    }
    std::exception_ptr failure;
    try {
      fill_(step, slots_[slot_of(step)]);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    failure_ = failure;
    if (!failure) filled_end_ = step + 1;
    changed_.notify_all();
    if (failure) return;
  }
}

void Loader::wait_until_filled(int64_t step) {
  if (!options_.prefetch) return fill_(step, slots_[slot_of(step)]);
  std::unique_lock lock(mutex_);
  free_end_ = step + static_cast<int64_t>(slots_.size());
  changed_.notify_all();
  changed_.wait(lock, [&] { return step < filled_end_ || failure_; });
  if (step >= filled_end_) std::rethrow_exception(failure_);
}

LoadedBatch Loader::next() {
  const int64_t step = next_step_;
  if (!more(step)) throw std::logic_error(fmt::format("the loader's last step is {}", options_.end_step - 1));
  const auto start = std::chrono::steady_clock::now();
  wait_until_filled(step);
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - start;
  next_step_ = step + 1;
  return {step, slot_of(step), waited.count()};
}

}  // namespace kb
