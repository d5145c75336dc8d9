#include "recipes/train/gradient_server.h"

#include <cstring>
#include <exception>

#include "recipes/train/store_bytes.h"
#include "recipes/train/worker_gradient.h"
#include "runtime/comm/heartbeat.h"
#include "runtime/comm/link.h"

namespace kb {
namespace {

constexpr int64_t kEnd = -1;  // in place of a piece: there is no more work

// The head of a worker's message: whether its process was asked to stop, as the number of the signal; 0: it was not.
using Asked = int64_t;

// Returns whether a tensor of a worker is sent to it (parameters and running statistics), or by it (what it changes:
// the gradient, which is kept as a slot, and running statistics).
bool is_work(const TensorView& view, const StateStore&) { return !view.slot; }
bool is_result(const TensorView& view, const StateStore& store) {
  return view.slot || store.space().find(view.name) == nullptr;
}

size_t figures_of(const LoopParts& parts) { return 1 + parts.metrics.training.size(); }

// Returns the size in bytes of a message that begins with one number, of `figures` numbers and of a store's tensors.
size_t message_bytes(const StateStore& store, size_t figures, TensorPick pick) {
  return sizeof(int64_t) + figures * sizeof(double) + bytes_of(store, pick);
}

void set_head(std::vector<std::byte>& message, int64_t head) { std::memcpy(message.data(), &head, sizeof head); }
int64_t head_of(const std::vector<std::byte>& message) {
  int64_t head = 0;
  std::memcpy(&head, message.data(), sizeof head);
  return head;
}

int rank_of(size_t worker) { return static_cast<int>(worker) + 1; }
int64_t size_of(const std::vector<std::byte>& message) { return static_cast<int64_t>(message.size()); }

// Tells the processes that watch this one that it waits for others, while it lives.
class Waiting {
 public:
  Waiting(World& world, const char* place) : heartbeat_(world.heartbeat()) {
    if (heartbeat_) heartbeat_->at(place, true);
  }
  ~Waiting() {
    if (heartbeat_) heartbeat_->waits(false);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Heartbeat* heartbeat_;
};

}  // namespace

int64_t bytes_of_messages(const LoopParts& parts) {
  const StateStore& store = *parts.copies.stores.front();
  return static_cast<int64_t>(message_bytes(store, 0, is_work) + message_bytes(store, figures_of(parts), is_result));
}

GradientServer::GradientServer(const LoopParts& parts, Communicator& team)
    : parts_(parts), team_(team), workers_(parts.copies.stores.size()) {
  for (size_t w = 0; w < workers_.size(); ++w) {
    const StateStore& store = *parts.copies.stores[w];
    workers_[w].work.resize(message_bytes(store, 0, is_work));
    workers_[w].gradient.resize(message_bytes(store, figures_of(parts), is_result));
  }
}

GradientServer::~GradientServer() {
  if (std::uncaught_exceptions() > 0) return;
  while (std::ranges::any_of(workers_, [](const Worker& worker) { return worker.computes; })) arrived();
  team_.run([&](Link& link) {
    for (size_t w = 0; w < workers_.size(); ++w) {
      set_head(workers_[w].work, kEnd);
      link.wait(link.send(rank_of(w), workers_[w].work.data(), size_of(workers_[w].work)));
    }
  });
}

void GradientServer::start(int64_t number, int64_t piece) {
  const auto w = static_cast<size_t>(number);
  Worker& worker = workers_[w];
  set_head(worker.work, piece);
  write_bytes(*parts_.copies.stores[w], is_work, worker.work.data() + sizeof(int64_t));
  team_.run([&](Link& link) {
    link.wait(link.send(rank_of(w), worker.work.data(), size_of(worker.work)));
    worker.handle = link.receive(rank_of(w), worker.gradient.data(), size_of(worker.gradient));
  });
  worker.computes = true;
}

// Waits for the next message of a worker, and returns the worker.
size_t GradientServer::arrived() {
  const Waiting waiting(parts_.world, "gradient of a worker");
  std::vector<int> handles;
  std::vector<size_t> computing;
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (!workers_[w].computes) continue;
    handles.push_back(workers_[w].handle);
    computing.push_back(w);
  }
  size_t place = 0;
  team_.run([&](Link& link) { place = link.wait_any(handles); });
  workers_[computing[place]].computes = false;
  return computing[place];
}

GradientServer::Arrived GradientServer::next() {
  const size_t w = arrived();
  const std::vector<std::byte>& message = workers_[w].gradient;
  if (const Asked asked = head_of(message); asked != 0) parts_.world.stop(static_cast<int>(asked));
  Arrived gradient{static_cast<int64_t>(w), std::vector<double>(figures_of(parts_))};
  const std::byte* from = message.data() + sizeof(Asked);
  std::memcpy(gradient.figures.data(), from, gradient.figures.size() * sizeof(double));
  read_bytes(*parts_.copies.stores[w], is_result, from + gradient.figures.size() * sizeof(double));
  return gradient;
}

void compute_gradients(const LoopParts& parts, Communicator& team) {
  const int64_t w = parts.copies.first;
  StateStore& store = *parts.copies.stores.front();
  WorkerGradient gradient(parts);
  std::vector<std::byte> work(message_bytes(store, 0, is_work)),
      result(message_bytes(store, gradient.figures(), is_result));
  for (;;) {
    {
      const Waiting waiting(parts.world, "parameters of rank 0");
      team.run([&](Link& link) { link.wait(link.receive(0, work.data(), size_of(work))); });
    }
    const int64_t piece = head_of(work);
    if (piece == kEnd) return;
    parts.world.at_step(piece / parts.settled.batch.workers());
    parts.world.at_worker(w);
    read_bytes(store, is_work, work.data() + sizeof(int64_t));
    const std::vector<double>& figures = gradient.compute(w, piece);
    set_head(result, parts.world.stop_reason());
    std::byte* to = result.data() + sizeof(Asked);
    std::memcpy(to, figures.data(), figures.size() * sizeof(double));
    write_bytes(store, is_result, to + figures.size() * sizeof(double));
    team.run([&](Link& link) { link.wait(link.send(0, result.data(), size_of(result))); });
  }
}

}  // namespace kb
