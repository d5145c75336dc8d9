// A Communicator over any Link. A thread owns the link, does one job after another, and sleeps when there is none.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/comm/exchange.h"

namespace kb {

class LinkCommunicator : public Communicator {
 public:
  // Makes the link. It is called on the communicator's thread, and so are all of the link's functions but interrupt().
  using MakeLink = std::function<std::unique_ptr<Link>()>;
  LinkCommunicator(const MakeLink& make, Algorithm algorithm);
  // Gives up the active reductions if an exception is being handled or a ticket was not waited for.
  ~LinkCommunicator() override;

  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  Placement placement() const override { return link_->placement(); }
  std::string description() const override;
  void choose(Algorithm algorithm) override;
  int64_t all_reduce(std::byte* data, int64_t elements, DType dtype, const RankGroup& among) override;
  Interval wait(int64_t ticket) override;
  std::vector<std::string> all_gather(const std::string& bytes) override;
  void barrier() override;
  Traffic traffic() const override;
  void run(const std::function<void(Link&)>& task) override;

 private:
  // A reduction, or a task if it has one.
  struct Job {
    std::byte* data = nullptr;
    int64_t elements = 0;
    DType dtype = DType::f32;
    Algorithm algorithm = Algorithm::halving_doubling;
    RankGroup among = {};
    const std::function<void(Link&)>* task = nullptr;
    Interval interval;
    bool waited = true;
  };

  int64_t start(Job job);
  Job& job(int64_t ticket) { return jobs_[static_cast<size_t>(ticket) % jobs_.size()]; }
  void grow();
  void serve(const MakeLink& make);
  void work();
  bool next(Job& job);
  void perform(const Job& job, Exchange& exchange);

  Algorithm algorithm_;
  std::unique_ptr<Link> link_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable given_, done_;
  std::vector<Job> jobs_;  // a ring: ticket t is at t modulo its size
  // These are tickets: the oldest not waited for, the next to be given, the next to be done.
  int64_t oldest_ = 0, started_ = 0, finished_ = 0;
  bool ready_ = false, stop_ = false, clean_ = true;
  std::exception_ptr failure_;
  Traffic traffic_;
  std::thread thread_;
};

}  // namespace kb
