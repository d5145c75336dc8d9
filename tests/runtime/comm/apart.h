// A communicator of ranks on one machine that says they are on several machines.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb::test {

class Apart : public Communicator {
 public:
  // Every machine seems to have `per_machine` ranks; the last one may have fewer.
  Apart(std::unique_ptr<Communicator> under, int per_machine) : under_(std::move(under)), per_machine_(per_machine) {}

  int rank() const override { return under_->rank(); }
  int size() const override { return under_->size(); }
  Placement placement() const override {
    const int leader = rank() - rank() % per_machine_;
    return {.nodes = (size() + per_machine_ - 1) / per_machine_,
            .local_rank = rank() - leader,
            .local_size = std::min(per_machine_, size() - leader),
            .leader = leader};
  }
  std::string description() const override { return under_->description(); }
  void choose(Algorithm algorithm) override { under_->choose(algorithm); }
  int64_t all_reduce(std::byte* data, int64_t elements, DType dtype, const RankGroup& among) override {
    return under_->all_reduce(data, elements, dtype, among);
  }
  Interval wait(int64_t ticket) override { return under_->wait(ticket); }
  std::vector<std::string> all_gather(const std::string& bytes) override { return under_->all_gather(bytes); }
  void barrier() override { under_->barrier(); }
  void run(const std::function<void(Link&)>& task) override { under_->run(task); }
  Traffic traffic() const override { return under_->traffic(); }

 private:
  std::unique_ptr<Communicator> under_;
  int per_machine_;
};

}  // namespace kb::test
