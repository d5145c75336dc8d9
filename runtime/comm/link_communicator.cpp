#include "runtime/comm/link_communicator.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include "graph/error.h"
#include "runtime/comm/sum.h"
#include "runtime/threads.h"

namespace kb {

LinkCommunicator::LinkCommunicator(const MakeLink& make, Algorithm algorithm) : algorithm_(algorithm), jobs_(16) {
  thread_ = start_thread("the messages between processes", [this, &make] { serve(make); });
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return ready_ || failure_; });
  }
  try {
    if (failure_) std::rethrow_exception(failure_);
    choose(algorithm);
  } catch (...) {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      given_.notify_one();
    }
    thread_.join();
    throw;
  }
}

LinkCommunicator::~LinkCommunicator() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    clean_ = !failure_ && oldest_ == started_ && std::uncaught_exceptions() == 0;
    if (!clean_) link_->interrupt();
    given_.notify_one();
  }
  thread_.join();
}

std::string LinkCommunicator::description() const {
  const int nodes = link_->placement().nodes;
  return fmt::format("{}: {} {} on {} {}, {}", link_->name(), size(), size() == 1 ? "rank" : "ranks", nodes,
                     nodes == 1 ? "node" : "nodes", kb::name(algorithm_));
}

void LinkCommunicator::choose(Algorithm algorithm) {
  if ((algorithm == Algorithm::mpi || algorithm == Algorithm::mpi_blocking) && !link_->reduces())
    throw Error(fmt::format("all-reduce \"{}\" is the MPI library's own, and these ranks are connected by {}",
                            kb::name(algorithm), link_->name()));
  if (algorithm == Algorithm::nccl)
    throw Error("all-reduce \"nccl\" sums on GPUs, and these arrays are in the memory of the host");
  algorithm_ = algorithm;
}

// ---- The side of the caller

int64_t LinkCommunicator::all_reduce(std::byte* data, int64_t elements, DType dtype, const RankGroup& among) {
  ensure(can_sum(dtype), "all_reduce: no sum of this dtype");
  ensure(elements >= 0, "all_reduce: a negative number of elements");
  Job job;
  job.data = data;
  job.elements = elements;
  job.dtype = dtype;
  job.algorithm = algorithm_;
  job.among = among;
  if (!among.is_all() && (algorithm_ == Algorithm::mpi || algorithm_ == Algorithm::mpi_blocking))
    throw Error(
        fmt::format("all-reduce \"{}\" is the MPI library's own and sums over all ranks, and {} of {} are to sum\n"
                    "  hint:     halving-doubling, or ring",
                    kb::name(algorithm_), among.count, size()));
  return start(job);
}

int64_t LinkCommunicator::start(Job job) {
  std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  while (oldest_ < started_ && this->job(oldest_).waited) ++oldest_;
  if (started_ - oldest_ == static_cast<int64_t>(jobs_.size())) grow();
  job.waited = false;
  this->job(started_) = job;
  given_.notify_one();
  return started_++;
}

void LinkCommunicator::grow() {
  std::vector<Job> jobs(jobs_.size() * 2);
  for (int64_t ticket = oldest_; ticket < started_; ++ticket)
    jobs[static_cast<size_t>(ticket) % jobs.size()] = job(ticket);
  jobs_ = std::move(jobs);
}

Interval LinkCommunicator::wait(int64_t ticket) {
  std::unique_lock lock(mutex_);
  ensure(ticket >= oldest_ && ticket < started_ && !job(ticket).waited, "wait: not a ticket that is to be waited for");
  done_.wait(lock, [&] { return finished_ > ticket || failure_; });
  job(ticket).waited = true;
  while (oldest_ < started_ && job(oldest_).waited) ++oldest_;
  if (finished_ <= ticket) std::rethrow_exception(failure_);
  return job(ticket).interval;
}

void LinkCommunicator::run(const std::function<void(Link&)>& task) {
  Job job;
  job.task = &task;
  wait(start(job));
}

// Every two ranks exchange lengths, then bytes. The d-th message goes to the rank that is d after this one.
std::vector<std::string> LinkCommunicator::all_gather(const std::string& bytes) {
  const int ranks = size();
  std::vector<std::string> all(static_cast<size_t>(ranks));
  all[static_cast<size_t>(rank())] = bytes;
  std::vector<int64_t> lengths(static_cast<size_t>(ranks), static_cast<int64_t>(bytes.size()));
  const int64_t own = static_cast<int64_t>(bytes.size());
  run([&](Link& link) {
    std::vector<int> handles;
    const auto round = [&](const auto& send, const auto& receive) {
      handles.clear();
      for (int distance = 1; distance < ranks; ++distance) {
        handles.push_back(receive((rank() + ranks - distance) % ranks));
        handles.push_back(send((rank() + distance) % ranks));
      }
      for (const int handle : handles) link.wait(handle);
    };
    round([&](int receiver) { return link.send(receiver, reinterpret_cast<const std::byte*>(&own), sizeof own); },
          [&](int from) {
            return link.receive(from, reinterpret_cast<std::byte*>(&lengths[static_cast<size_t>(from)]), sizeof own);
          });
    for (size_t from = 0; from < all.size(); ++from) all[from].resize(static_cast<size_t>(lengths[from]));
    round([&](int receiver) { return link.send(receiver, reinterpret_cast<const std::byte*>(bytes.data()), own); },
          [&](int from) {
            std::string& text = all[static_cast<size_t>(from)];
            return link.receive(from, reinterpret_cast<std::byte*>(text.data()), static_cast<int64_t>(text.size()));
          });
  });
  return all;
}

// The barrier is a dissemination: after the round of distance d, a rank knows of the 2d - 1 ranks before it (Hensgen,
// Finkel and Manber 1988).
void LinkCommunicator::barrier() {
  run([&](Link& link) {
    const int ranks = size();
    for (int distance = 1; distance < ranks; distance *= 2) {
      std::byte in{}, out{};
      const int receive = link.receive((rank() + ranks - distance) % ranks, &in, 1);
      const int send = link.send((rank() + distance) % ranks, &out, 1);
      link.wait(receive);
      link.wait(send);
    }
  });
}

Traffic LinkCommunicator::traffic() const {
  std::lock_guard lock(mutex_);
  return traffic_;
}

// ---- The side of the communicator's thread

void LinkCommunicator::serve(const MakeLink& make) {
  // A sleep of microseconds must last microseconds; by default it lasts 50 longer.
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  try {
    link_ = make();
    {
      std::lock_guard lock(mutex_);
      ready_ = true;
      done_.notify_all();
    }
    work();
    if (clean_) link_->close();
  } catch (...) {
    std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    done_.notify_all();
  }
}

void LinkCommunicator::work() {
  Exchange exchange(*link_);
  Job job;
  while (next(job)) {
    job.interval.begin = link_->now();
    perform(job, exchange);
    job.interval.end = link_->now();
    std::lock_guard lock(mutex_);
    traffic_ = exchange.traffic();
    this->job(finished_++).interval = job.interval;
    done_.notify_all();
  }
}

bool LinkCommunicator::next(Job& job) {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return stop_ || finished_ < started_; });
  if (stop_) return false;
  job = this->job(finished_);
  return true;
}

void LinkCommunicator::perform(const Job& job, Exchange& exchange) {
  if (job.task) return (*job.task)(*link_);
  exchange.among(job.among);
  switch (job.algorithm) {
    case Algorithm::halving_doubling:
      return halving_doubling(exchange, job.data, job.elements, job.dtype);
    case Algorithm::ring:
      return ring(exchange, job.data, job.elements, job.dtype);
    case Algorithm::mpi:
    case Algorithm::mpi_blocking:
      ++exchange.traffic().steps;
      exchange.traffic().bytes_sent += job.elements * size_of(job.dtype);
      exchange.traffic().bytes_received += job.elements * size_of(job.dtype);
      return link_->all_reduce(job.data, job.elements, job.dtype, job.algorithm == Algorithm::mpi_blocking);
    case Algorithm::nccl:
      throw InternalError("an all-reduce that was not chosen");
  }
}

}  // namespace kb
