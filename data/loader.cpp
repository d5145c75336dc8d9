#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "data/image_files.h"

namespace kb {
namespace {

class RowGatherer {
 public:
  RowGatherer(const Split& split, const Order& order, int64_t first_row, Augmentation augmentation)
      : split_(split), order_(order), first_row_(first_row), augmentation_(std::move(augmentation)) {
    if (order.sample_end() > split.count())
      throw std::logic_error(
          fmt::format("a split of {} samples cannot be read by an order of {}", split.count(), order.sample_end()));
    if (augmentation_.spec.cutout > 0 && static_cast<int64_t>(augmentation_.fill.size()) != split.shape.channels)
      throw std::logic_error("cutout needs one value a channel");
  }

  void operator()(int64_t step, const BatchMemory& memory) const {
    check(step, memory);
    for (size_t row = 0; row < memory.weights.size(); ++row) {
      const auto [sample, weight] = order_.row(step, first_row_ + static_cast<int64_t>(row));
      memory.weights[row] = weight;
      if (!memory.samples.empty()) memory.samples[row] = static_cast<int32_t>(sample);
      if (!memory.labels.empty()) memory.labels[row] = split_.labels[static_cast<size_t>(sample)];
      AugmentRecord record =
          augment_record(augmentation_.spec, split_.shape, augmentation_.seed, order_.epoch(step), sample);
      if (!memory.pixels.empty()) write_image(sample, order_.epoch(step), record, row, memory.pixels);
      if (augmentation_.in_loader) record = {.mix = record.mix};
      write_record(record, step, row, memory.augment);
    }
  }

 private:
  void check(int64_t step, const BatchMemory& memory) const {
    const size_t rows = memory.weights.size(), pixels = memory.pixels.size();
    const AugmentMemory& a = memory.augment;
    const auto fits = [&](size_t size, size_t each) { return size == 0 || size == each * rows; };
    if (fits(pixels, static_cast<size_t>(split_.shape.size())) && fits(memory.labels.size(), 1) &&
        fits(memory.samples.size(), 1) && first_row_ >= 0 &&
        first_row_ + static_cast<int64_t>(rows) <= order_.minibatch(step) && fits(a.windows.size(), 3) &&
        fits(a.boxes.size(), 4) && fits(a.partners.size(), 1) && fits(a.mix.size(), 1))
      return;
    throw std::logic_error(
        fmt::format("batch memory of {} labels, {} weights, {} pixels at row {} does not fit a "
                    "minibatch of {} rows of {} pixels",
                    memory.labels.size(), rows, pixels, first_row_, order_.minibatch(step), split_.shape.size()));
  }

  // Returns the image before window and box are applied. An image that lies in a file is read into `memory`.
  std::span<const uint8_t> image_of(int64_t sample, int64_t epoch, std::span<uint8_t> memory) const {
    if (!split_.files) return split_.image(sample);
    split_.files->read(sample, {augmentation_.spec, augmentation_.seed, epoch}, memory);
    return memory;
  }

  void write_image(int64_t sample, int64_t epoch, const AugmentRecord& record, size_t row,
                   std::span<uint8_t> pixels) const {
    const auto size = static_cast<size_t>(split_.shape.size());
    // The span is cut in two steps: from a single cut, whose count might be std::dynamic_extent, g++ concludes a wrong
    // length.
    const std::span<uint8_t> to = pixels.subspan(row * size).first(size);
    if (split_.files && !augmentation_.in_loader) return void(image_of(sample, epoch, to));
    thread_local Bytes memory;
    if (split_.files) memory.resize(size);
    const std::span<const uint8_t> image = image_of(sample, epoch, memory);
    if (augmentation_.in_loader)
      augment_image(record, split_.shape, augmentation_.fill, image, to);
    else
      std::ranges::copy(image, to.begin());
  }

  void write_record(const AugmentRecord& record, int64_t step, size_t row, const AugmentMemory& memory) const {
    if (!memory.windows.empty()) std::ranges::copy(record.window, memory.windows.begin() + 3 * row);
    if (!memory.boxes.empty()) std::ranges::copy(record.box, memory.boxes.begin() + 4 * row);
    if (!memory.mix.empty()) memory.mix[row] = record.mix;
    if (!memory.partners.empty())
      memory.partners[row] =
          mix_partner(augmentation_.seed, step, first_row_, std::ssize(memory.partners), static_cast<int64_t>(row));
  }

  const Split& split_;
  const Order order_;
  const int64_t first_row_;
  const Augmentation augmentation_;
};

}  // namespace

BatchFill gather_rows(const Split& split, const Order& order, int64_t first_row, Augmentation augmentation) {
  return RowGatherer(split, order, first_row, std::move(augmentation));
}

Loader::Loader(SlotFill fill, int slots, LoaderOptions options)
    : fill_(std::move(fill)),
      slots_(slots),
      options_(options),
      next_step_(options.first_step),
      claimed_end_(options.first_step),
      free_end_(options.first_step + slots),
      filled_(static_cast<size_t>(std::max(slots, 0)), -1),
      failed_step_(options.end_step) {
  if (options_.in_use < 1 || slots_ < options_.in_use)
    throw std::logic_error("a loader needs a slot for each batch in use, and at least one");
  try {
    for (int i = 0; i < options_.threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { prefetch(stop); });
    // Fewer threads fill batches ahead; if there is none, next() fills them.
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
  }
}

int Loader::slot_of(int64_t step) const { return static_cast<int>((step - options_.first_step) % slots_); }

// Waits until a step that nobody fills yet has a free slot, and returns it; returns the end when none is left.
int64_t Loader::claim(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return claimed_end_ >= failed_step_ || claimed_end_ < free_end_; });
  return stop.stop_requested() || claimed_end_ >= failed_step_ ? options_.end_step : claimed_end_++;
}

// Fills the batch of a step, or notes why it cannot be filled.
void Loader::fill(int64_t step) {
  std::exception_ptr failure;
  try {
    fill_(step, slot_of(step));
  } catch (...) {
    failure = std::current_exception();
  }
  const std::scoped_lock lock(mutex_);
  if (!failure) {
    filled_[static_cast<size_t>(slot_of(step))] = step;
  } else if (step < failed_step_) {
    failed_step_ = step;
    failure_ = failure;
  }
  changed_.notify_all();
}

void Loader::prefetch(const std::stop_token& stop) {
  for (int64_t step = claim(stop); more(step); step = claim(stop)) fill(step);
}

void Loader::wait_until_filled(int64_t step) {
  if (threads_.empty() && step < failed_step_) fill(step);
  std::unique_lock lock(mutex_);
  free_end_ = std::max(free_end_, step + 1 - options_.in_use + slots_);
  changed_.notify_all();
  changed_.wait(lock, [&] { return filled_[static_cast<size_t>(slot_of(step))] == step || failed_step_ <= step; });
  if (failed_step_ <= step) std::rethrow_exception(failure_);
}

LoadedBatch Loader::next() {
  const int64_t step = next_step_;
  if (!more(step)) throw std::logic_error(fmt::format("the loader's last step is {}", options_.end_step - 1));
  const auto start = options_.now();
  wait_until_filled(step);
  const std::chrono::duration<double, std::milli> waited = options_.now() - start;
  next_step_ = step + 1;
  return {step, slot_of(step), waited.count()};
}

}  // namespace kb
