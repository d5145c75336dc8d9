// A communicator that measures how long its caller waits for reductions.
#pragma once
#include <chrono>
#include <memory>
#include <utility>

#include "runtime/comm/communicator.h"

namespace kb {

class MeasuredCommunicator final : public Communicator {
 public:
  explicit MeasuredCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  // Returns the seconds that calls of wait() have taken so far.
  double waited_s() const { return waited_s_; }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Placement placement() const override { return inner_->placement(); }
  std::string description() const override { return inner_->description(); }
  void choose(Algorithm algorithm) override { inner_->choose(algorithm); }
  int64_t all_reduce(std::byte* data, int64_t elements, DType dtype, const RankGroup& among = {}) override {
    return inner_->all_reduce(data, elements, dtype, among);
  }
  Interval wait(int64_t ticket) override {
    const auto begin = std::chrono::steady_clock::now();
    const Interval interval = inner_->wait(ticket);
    waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return interval;
  }
  std::vector<std::string> all_gather(const std::string& bytes) override { return inner_->all_gather(bytes); }
  void barrier() override { inner_->barrier(); }
  void run(const std::function<void(Link&)>& task) override { inner_->run(task); }
  Traffic traffic() const override { return inner_->traffic(); }

 private:
  std::unique_ptr<Communicator> inner_;
  double waited_s_ = 0;
};

}  // namespace kb
