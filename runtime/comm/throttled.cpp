// A message that starts at time t reaches the receiver's port at t + latency and is complete bytes/bandwidth later;
// each port carries one message after another. The sender sends the start time first, in a message of its own, and the
// receiver holds the bytes back until they are due.
#include "runtime/comm/throttled.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>

#include "graph/error.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;

class Throttled : public Link {
 public:
  Throttled(std::unique_ptr<Link> link, const Network& network, Throttle throttle)
      : link_(std::move(link)), network_(network), counts_(throttle == Throttle::counts) {
    ensure(network.latency >= 0 && network.bandwidth > 0, "a network has a latency and a bandwidth");
  }

  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  Placement placement() const override { return link_->placement(); }
  std::string name() const override {
    return fmt::format("{} as over {:g} us, {:g} GB/s", link_->name(), network_.latency * 1e6,
                       network_.bandwidth / 1e9);
  }

  Clock::time_point now() const override { return counts_ ? counted_ : Clock::now(); }

  int send(int receiver, const std::byte* data, int64_t bytes) override {
    const int handle = free_handle();
    Message& message = *messages_[static_cast<size_t>(handle)];
    message = {.sending = true, .bytes = bytes, .start = std::max(now(), out_free_)};
    out_free_ = message.start + time_of(bytes);
    message.head = link_->send(receiver, reinterpret_cast<const std::byte*>(&message.start), sizeof message.start);
    message.body = link_->send(receiver, data, bytes);
    return handle;
  }

  int receive(int from, std::byte* data, int64_t bytes) override {
    const int handle = free_handle();
    Message& message = *messages_[static_cast<size_t>(handle)];
    message = {.sending = false, .bytes = bytes, .start = {}};
    message.head = link_->receive(from, reinterpret_cast<std::byte*>(&message.start), sizeof message.start);
    message.body = link_->receive(from, data, bytes);
    return handle;
  }

  void wait(int handle) override {
    Message& message = *messages_[static_cast<size_t>(handle)];
    if (message.stage == Stage::head) link_->wait(message.head), message.stage = Stage::body;
    if (message.stage == Stage::body) link_->wait(message.body), arrive(message);
    sleep_until(message.due);
    free_.push_back(handle);
  }

  bool test(int handle) override {
    Message& message = *messages_[static_cast<size_t>(handle)];
    if (message.stage == Stage::head && link_->test(message.head)) message.stage = Stage::body;
    if (message.stage == Stage::body && link_->test(message.body)) arrive(message);
    if (message.stage != Stage::due || (!counts_ && Clock::now() < message.due)) return false;
    sleep_until(message.due);
    free_.push_back(handle);
    return true;
  }

  void interrupt() override {
    {
      std::lock_guard lock(mutex_);
      interrupted_ = true;
      changed_.notify_all();
    }
    link_->interrupt();
  }

  void close() override { link_->close(); }

 private:
  // The part of a message that comes next: its head, its body, and the time until which it is held back.
  enum class Stage : uint8_t { head, body, due };
  struct Message {
    bool sending = false;
    int64_t bytes = 0;
    Clock::time_point start;  // time at which its first byte leaves
    int head = 0, body = 0;   // handles of the two messages on the underlying link
    Stage stage = Stage::head;
    Clock::time_point due = {};
  };

  void arrive(Message& message) {
    message.stage = Stage::due;
    if (message.sending) {
      message.due = message.start + time_of(message.bytes);
      return;
    }
    in_free_ = std::max(message.start + seconds(network_.latency), in_free_) + time_of(message.bytes);
    message.due = in_free_;
  }

  static Clock::duration seconds(double value) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
  }
  Clock::duration time_of(int64_t bytes) const { return seconds(static_cast<double>(bytes) / network_.bandwidth); }

  void sleep_until(Clock::time_point time) {
    if (counts_) {
      counted_ = std::max(counted_, time);
      return;
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, time, [this] { return interrupted_; })) throw Error("the communicator was closed");
  }

  int free_handle() {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(messages_.size()));
      messages_.push_back(std::make_unique<Message>());
    }
    const int handle = free_.back();
    free_.pop_back();
    return handle;
  }

  std::unique_ptr<Link> link_;
  const Network network_;
  const bool counts_;
  Clock::time_point counted_;
  Clock::time_point out_free_, in_free_;            // times at which the ports have carried all messages so far
  std::vector<std::unique_ptr<Message>> messages_;  // never moved, since the underlying link has their addresses
  std::vector<int> free_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
};

}  // namespace

std::unique_ptr<Link> throttled(std::unique_ptr<Link> link, const Network* network, Throttle throttle) {
  if (!network) return link;
  return std::make_unique<Throttled>(std::move(link), *network, throttle);
}

}  // namespace kb
