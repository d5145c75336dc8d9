#include "recipes/task/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace kb {
namespace {

using Members = std::shared_ptr<const std::vector<int64_t>>;

// Some samples of a source, which count from 0 in their order.
class SourcePart : public Source {
 public:
  SourcePart(std::shared_ptr<const Source> whole, Members members, const std::vector<Field>& fields)
      : whole_(std::move(whole)), members_(std::move(members)), tables_(fields.size()) {
    for (const Field& field : fields) sample_bytes_.push_back(field.in_memory ? field.sample_bytes() : 0);
  }

  int64_t count() const override { return std::ssize(*members_); }
  std::vector<std::string> replaced() const override { return whole_->replaced(); }
  std::optional<DType> field_dtype(size_t field) const override { return whole_->field_dtype(field); }
  int64_t number_before(int64_t sample) const override {
    return whole_->number_before(members_->at(static_cast<size_t>(sample)));
  }
  int64_t reading_bytes() const override { return whole_->reading_bytes(); }
  std::string fingerprint() const override { return whole_->fingerprint(); }
  int64_t length(int64_t sample) const override { return whole_->length(members_->at(static_cast<size_t>(sample))); }
  int64_t ragged_values(int64_t sample) const override {
    return whole_->ragged_values(members_->at(static_cast<size_t>(sample)));
  }

  FieldFill gather(const Order& order, int64_t first_row) const override {
    return [fill = whole_->gather(order.within(members_), first_row), order, first_row](int64_t step,
                                                                                        const FieldMemory& memory) {
      fill(step, memory);
      for (size_t row = 0; row < memory.samples.size(); ++row)
        memory.samples[row] = static_cast<int32_t>(order.row(step, first_row + static_cast<int64_t>(row)).sample);
    };
  }

  // Copied when it is first asked for.
  std::span<const std::byte> table(size_t field) const override {
    const std::span<const std::byte> all = whole_->table(field);
    const auto bytes = static_cast<size_t>(sample_bytes_.at(field));
    if (all.empty() || bytes == 0) return {};
    const std::scoped_lock lock(mutex_);
    std::vector<std::byte>& own = tables_[field];
    if (!own.empty()) return own;
    own.reserve(members_->size() * bytes);
    for (const int64_t sample : *members_) {
      const auto row = all.subspan(static_cast<size_t>(sample) * bytes, bytes);
      own.insert(own.end(), row.begin(), row.end());
    }
    return own;
  }

 private:
  const std::shared_ptr<const Source> whole_;
  const Members members_;
  std::vector<int64_t> sample_bytes_;  // 0 for a field that is in no memory
  mutable std::mutex mutex_;           // guards the tables
  mutable std::vector<std::vector<std::byte>> tables_;
};

// The samples at positions [begin, end) of the permutation, in the order of their numbers.
Members members_at(int64_t begin, int64_t end, int64_t all) {
  constexpr uint64_t kSeed = 0;
  const Permutation permutation(kSeed, 0, all);
  std::vector<int64_t> members;
  for (int64_t position = begin; position < end; ++position) members.push_back(permutation(position));
  std::sort(members.begin(), members.end());
  return std::make_shared<const std::vector<int64_t>>(std::move(members));
}

// Throws Error where a task with its sources has no samples to evaluate on.
void check_judged(const Task& task) {
  if (task.test || task.valid) return;
  throw Error(fmt::format(
      "{}: there are no samples to judge a training by\n"
      "  expected: a test part, or samples that are held out\n"
      "  got:      {} training samples alone\n"
      "  hint:     judging.validation = {} holds out so many of them",
      task.data.empty() ? task.name : task.data, task.train_count, std::max<int64_t>(1, task.train_count / 10)));
}

Task without_held_out(Task task, int64_t count) {
  const int64_t all = task.train_count, left = all - count;
  const std::string& name = task.data.empty() ? task.name : task.data;
  if (task.is_noise || (task.train && task.train->is_constant()))
    throw Error(fmt::format("judging.validation: expected samples to hold out, got noise in the shape of {}", name));
  if (left < 1)
    throw Error(
        fmt::format("judging.validation: expected less than the {} training samples of {}, got {}", all, name, count));
  task.train_count = left;
  task.valid_count = count;
  if (!task.train) return task;
  const Members train = members_at(0, left, all), valid = members_at(left, all, all);
  const std::shared_ptr<const Source> plain = task.plain ? task.plain : task.train;
  task.train = std::make_shared<SourcePart>(task.train, train, task.fields);
  task.plain = std::make_shared<SourcePart>(plain, train, task.fields);
  task.valid = std::make_shared<SourcePart>(plain, valid, task.fields);
  return task;
}

}  // namespace

Task with_validation(Task task, int64_t count) {
  if (count > 0 && task.valid_count == 0) task = without_held_out(std::move(task), count);
  if (task.train) check_judged(task);
  return task;
}

}  // namespace kb
