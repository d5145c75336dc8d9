// Each ordered pair of ranks has a channel, through which the receiver copies out of the sender's memory.
#include "tests/support/in_process.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "graph/error.h"
#include "runtime/comm/link_communicator.h"
#include "runtime/comm/throttled.h"

namespace kb {

struct Letter {
  const std::byte* data;
  int64_t bytes;
};

// A queue in a ring. It allocates nothing once it has been as long before.
class Letters {
 public:
  bool empty() const { return count_ == 0; }
  const Letter& front() const { return slots_[first_]; }
  void push(const Letter& letter) {
    if (count_ == slots_.size()) grow();
    slots_[(first_ + count_++) % slots_.size()] = letter;
  }
  void pop() {
    first_ = (first_ + 1) % slots_.size();
    --count_;
  }
  void clear() { count_ = 0; }

 private:
  void grow() {
    std::vector<Letter> slots(slots_.size() * 2);
    for (size_t i = 0; i < count_; ++i) slots[i] = slots_[(first_ + i) % slots_.size()];
    slots_ = std::move(slots);
    first_ = 0;
  }
  std::vector<Letter> slots_{8};
  size_t first_ = 0, count_ = 0;
};

struct Channel {
  std::mutex mutex;
  std::condition_variable changed;
  Letters letters;  // messages that were sent and not taken
  int64_t sent = 0, taken = 0;
};

class InProcessNetwork {
 public:
  explicit InProcessNetwork(int ranks) : size(ranks), dead(static_cast<size_t>(ranks)) {
    for (int i = 0; i < ranks * ranks; ++i) channels.emplace_back();
  }
  Channel& channel(int sender, int receiver) { return channels[static_cast<size_t>(sender * size + receiver)]; }
  // Wakes all threads that wait for this rank, and the thread of this rank.
  void wake(int rank) {
    for (int other = 0; other < size; ++other) {
      for (Channel* channel : {&this->channel(rank, other), &this->channel(other, rank)}) {
        std::lock_guard lock(channel->mutex);
        channel->changed.notify_all();
      }
    }
  }

  const int size;
  std::vector<std::atomic<bool>> dead;
  std::deque<Channel> channels;  // ordered by sender, then by receiver
};

namespace {

using Clock = std::chrono::steady_clock;

class InProcessLink : public Link {
 public:
  InProcessLink(std::shared_ptr<InProcessNetwork> network, int rank, double timeout)
      : network_(std::move(network)), rank_(rank), timeout_(timeout), receives_(static_cast<size_t>(network_->size)) {}

  // Drops the messages that nobody has taken, because their memory may be freed now.
  ~InProcessLink() override {
    for (int to = 0; to < size(); ++to) {
      Channel& channel = network_->channel(rank_, to);
      std::lock_guard lock(channel.mutex);
      channel.letters.clear();
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return network_->size; }
  Placement placement() const override { return {1, rank_, size()}; }
  std::string name() const override { return "threads"; }

  int send(int receiver, const std::byte* data, int64_t bytes) override {
    Channel& channel = network_->channel(rank_, receiver);
    std::lock_guard lock(channel.mutex);
    channel.letters.push({data, bytes});
    channel.changed.notify_all();
    return keep({.sending = true, .other = receiver, .number = ++channel.sent});
  }

  int receive(int from, std::byte* data, int64_t bytes) override {
    return keep({.other = from, .number = ++receives_[static_cast<size_t>(from)], .data = data, .bytes = bytes});
  }

  void wait(int handle) override {
    const Message message = messages_[static_cast<size_t>(handle)];
    Channel& channel = channel_of(message);
    std::unique_lock lock(channel.mutex);
    const auto ended = [&] { return stopped() || is_over(channel, message); };
    const bool in_time = channel.changed.wait_for(lock, std::chrono::duration<double>(timeout_), ended);
    if (stopped()) throw Error("the communicator was closed");
    if (!in_time) throw_no_message(rank_, message.other, timeout_, message.sending);
    if (!message.sending) take(channel, message);
    free_.push_back(handle);
  }

  bool test(int handle) override {
    const Message message = messages_[static_cast<size_t>(handle)];
    Channel& channel = channel_of(message);
    const std::lock_guard lock(channel.mutex);
    if (stopped()) throw Error("the communicator was closed");
    if (!is_over(channel, message)) return false;
    if (!message.sending) take(channel, message);
    free_.push_back(handle);
    return true;
  }

  void interrupt() override {
    interrupted_ = true;
    network_->wake(rank_);
  }

 private:
  struct Message {
    bool sending = false;
    int other = 0;
    int64_t number = 0;  // number of the message in the channel
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };

  Channel& channel_of(const Message& message) const {
    return message.sending ? network_->channel(rank_, message.other) : network_->channel(message.other, rank_);
  }

  bool is_over(const Channel& channel, const Message& message) const {
    const bool is_there = message.sending ? channel.taken >= message.number : !channel.letters.empty();
    return is_there && !network_->dead[static_cast<size_t>(message.other)];
  }

  bool stopped() const { return interrupted_ || network_->dead[static_cast<size_t>(rank_)]; }

  static void take(Channel& channel, const Message& message) {
    const Letter letter = channel.letters.front();
    ensure(channel.taken + 1 == message.number, "messages from one rank are waited for in their order");
    ensure(letter.bytes == message.bytes, "a message is as long as what is received");
    std::copy_n(letter.data, letter.bytes, message.data);
    channel.letters.pop();
    ++channel.taken;
    channel.changed.notify_all();
  }

  int keep(const Message& message) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(messages_.size()));
      messages_.emplace_back();
    }
    const int handle = free_.back();
    free_.pop_back();
    messages_[static_cast<size_t>(handle)] = message;
    return handle;
  }

  std::shared_ptr<InProcessNetwork> network_;
  int rank_;
  double timeout_;
  std::vector<int64_t> receives_;  // number of receives that were started, for each rank
  std::vector<Message> messages_;
  std::vector<int> free_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::shared_ptr<InProcessNetwork> make_in_process_network(int ranks) {
  return std::make_shared<InProcessNetwork>(ranks);
}

std::unique_ptr<Link> make_in_process_link(std::shared_ptr<InProcessNetwork> network, int rank, double timeout) {
  ensure(rank >= 0 && rank < network->size, "a rank of the network");
  return std::make_unique<InProcessLink>(std::move(network), rank, timeout);
}

std::unique_ptr<Communicator> make_in_process_communicator(std::shared_ptr<InProcessNetwork> network, int rank,
                                                           const CommunicatorOptions& options) {
  return std::make_unique<LinkCommunicator>(
      [&] { return throttled(make_in_process_link(std::move(network), rank, options.timeout), options.throttle); },
      options.algorithm);
}

void kill_rank(InProcessNetwork& network, int rank) {
  network.dead[static_cast<size_t>(rank)] = true;
  network.wake(rank);
}

}  // namespace kb
