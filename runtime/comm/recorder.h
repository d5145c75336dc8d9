// A communicator that notes, between begin() and end(), when its reductions were given away, went, were there, and how
// long they were waited for.
#pragma once
#include "compiler/overlap.h"
#include "runtime/comm/communicator.h"

namespace kb {

class Recorder : public Communicator {
 public:
  explicit Recorder(std::unique_ptr<Communicator> communicator);

  // Around a step, in which every reduction that is started is waited for. Reductions have numbers from 0 in the order
  // of their starts; what lies outside is not noted.
  void begin();
  void end();
  const std::vector<Overlap>& steps() const { return steps_; }

  int rank() const override { return under_->rank(); }
  int size() const override { return under_->size(); }
  Placement placement() const override { return under_->placement(); }
  std::string description() const override { return under_->description(); }
  void choose(Algorithm algorithm) override { under_->choose(algorithm); }
  int64_t all_reduce(std::byte* data, int64_t elements, DType dtype) override;
  Interval wait(int64_t ticket) override;
  std::vector<std::string> all_gather(const std::string& bytes) override { return under_->all_gather(bytes); }
  void barrier() override { under_->barrier(); }
  Traffic traffic() const override { return under_->traffic(); }

 private:
  using Clock = std::chrono::steady_clock;
  double since_begin(Clock::time_point time) const { return std::chrono::duration<double>(time - begin_).count(); }

  std::unique_ptr<Communicator> under_;
  bool recording_ = false;
  Clock::time_point begin_;
  Overlap now_;
  std::vector<int64_t> tickets_;  // of now_.reductions
  std::vector<Overlap> steps_;
};

// That of the median time; the steps are not empty.
const Overlap& median_step(const std::vector<Overlap>& steps);

}  // namespace kb
