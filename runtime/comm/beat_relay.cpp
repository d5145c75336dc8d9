#include "runtime/comm/beat_relay.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "graph/error.h"
#include "runtime/comm/relay_socket.h"

namespace kb {

struct SentBeat {
  int32_t rank = 0;
  Presence presence = Presence::absent;
  int32_t process = 0;
  int32_t waits = 0, steps = 0;
  int64_t step = 0, count = 0, age = 0;  // nanoseconds since Beat::since
  int64_t vote = 0;
  int32_t asked = 0;
  std::array<char, Beat::kPlaceBytes> place{};
};

namespace {

constexpr int kOpenMilliseconds = 5000;  // time in which all machines must connect
// Nanoseconds between two messages to a peer. With 256 ranks on 32 machines, rank 0 sends some 4 MB/s.
constexpr int64_t kPause = 10'000'000;

// These structs are sent as they lie in memory, between machines of one kind: first a Hello, then messages, each a Head
// and its beats.
struct Hello {
  uint64_t secret = 0;
  int32_t rank = 0;
};

struct Head {
  int32_t beats = 0;
  int32_t leaves = 0;  // 1: this is the last message
};

std::string reason() { return std::strerror(errno); }

class Deadline {
 public:
  int milliseconds_left() const { return static_cast<int>(std::max<int64_t>(0, (end_ - machine_time()) / 1'000'000)); }

 private:
  int64_t end_ = machine_time() + int64_t{kOpenMilliseconds} * 1'000'000;
};

// The socket on which rank 0 listens. Its text is "SECRET PORT ADDRESS ADDRESS ...", without an address if it cannot
// listen.
struct Hub {
  uint64_t secret = 0;
  uint16_t port = 0;
  std::vector<std::string> addresses;

  std::string text() const { return fmt::format("{} {} {}", secret, port, fmt::join(addresses, " ")); }
  static Hub parse(const std::string& text) {
    Hub hub;
    size_t at = 0;
    const auto word = [&] {
      const size_t end = std::min(text.find(' ', at), text.size());
      const std::string found = text.substr(at, end - at);
      at = std::min(end + 1, text.size());
      return found;
    };
    hub.secret = std::stoull(word());
    hub.port = static_cast<uint16_t>(std::stoul(word()));
    while (at < text.size()) hub.addresses.push_back(word());
    return hub;
  }
};

// A connection from which no Hello has come yet. A stranger may never send one, and must not hold up others.
struct Caller {
  RelaySocket socket;
  std::string said = {};

  bool has_said_all() const { return said.size() == sizeof(Hello); }
  Hello hello() const {
    Hello hello;
    std::memcpy(&hello, said.data(), sizeof hello);
    return hello;
  }
  // Reads more of the Hello. Closes the connection when the other side has closed it.
  void listen() {
    std::array<char, sizeof(Hello)> part;
    const ssize_t got = ::recv(socket.handle(), part.data(), part.size() - said.size(), 0);
    if (got > 0) said.append(part.data(), static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) socket.close();
  }
};

// Waits until anything comes from the listener or a caller, or the time is over, and takes it in.
void hear(const RelaySocket& listener, std::vector<Caller>& callers, const Deadline& deadline) {
  constexpr size_t kMostStrangers = 256;
  std::vector<pollfd> all{{listener.handle(), POLLIN, 0}};
  for (const Caller& caller : callers) all.push_back({caller.socket.handle(), POLLIN, 0});
  if (::poll(all.data(), all.size(), deadline.milliseconds_left()) <= 0) return;
  for (size_t i = 0; i < callers.size(); ++i)
    if (all[i + 1].revents != 0) callers[i].listen();
  std::erase_if(callers, [](const Caller& caller) { return !caller.socket.is_open(); });
  if (all[0].revents == 0) return;
  RelaySocket socket(::accept4(listener.handle(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) return;
  socket.do_not_wait();
  if (callers.size() == kMostStrangers) callers.erase(callers.begin());
  callers.push_back({std::move(socket)});
}

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

SentBeat sent_beat(const BeatPage& page, int rank) {
  const Beat& beat = page[rank];
  SentBeat sent{.rank = rank,
                .presence = page.presence(rank),
                .process = beat.process,
                .waits = beat.waits,
                .steps = beat.steps,
                .step = beat.step,
                .count = beat.count,
                .age = machine_time() - beat.since,
                .vote = beat.vote,
                .asked = beat.asked};
  std::copy(std::begin(beat.place), std::end(beat.place), sent.place.begin());
  return sent;
}

void set(Beat& beat, const SentBeat& sent) {
  beat.process = sent.process;
  beat.waits = sent.waits != 0;
  beat.steps = sent.steps != 0;
  beat.step = sent.step;
  beat.count = sent.count;
  beat.since = machine_time() - sent.age;
  std::copy(sent.place.begin(), sent.place.end(), std::begin(beat.place));
  beat.asked = sent.asked;
  beat.vote = sent.vote;
  beat.presence = sent.presence;
}

}  // namespace

struct BeatRelay::Peer {
  int rank = 0;
  RelaySocket socket;
  std::string in, out;  // bytes not complete yet; bytes not sent yet
  int64_t heard = machine_time();
};

BeatRelay::BeatRelay(Communicator& communicator, const BeatPage& page, double silence)
    : page_(page), rank_(communicator.rank()), silence_(static_cast<int64_t>(silence * 1e9)) {
  if (communicator.placement().nodes == 1) return;
  const std::string own = open(communicator);
  for (const std::string& one : communicator.all_gather(own))
    if (!one.empty()) fault_ = one;  // a machine's reason why it cannot connect says more than rank 0's
  if (!fault_.empty()) peers_.clear();
  // The processes of other machines are there, though nothing has been heard of them: one that is absent has left.
  for (int rank = 0; rank < page_.size() && fault_.empty(); ++rank)
    if (!page_.is_local(rank)) set(page_[rank], {.presence = Presence::here, .step = -1});
}

// Reads first, because closing a socket that has unread bytes may withdraw what was sent.
BeatRelay::~BeatRelay() {
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (peer->socket.is_open()) receive(*peer);
  look();
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (peer->socket.is_open()) send(*peer, true);
}

std::string BeatRelay::open(Communicator& communicator) {
  return rank_ == 0 ? listen_and_accept(communicator) : connect_to_hub(communicator);
}

std::string BeatRelay::listen_and_accept(Communicator& communicator) {
  Hub hub{std::random_device()() | uint64_t{std::random_device()()} << 32, 0, own_addresses()};
  const RelaySocket listener = new_socket();
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  const bool listens = listener.is_open() &&
                       ::bind(listener.handle(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
                       ::listen(listener.handle(), SOMAXCONN) == 0 &&
                       ::getsockname(listener.handle(), reinterpret_cast<sockaddr*>(&any), &length) == 0;
  const std::string fault = "rank 0 cannot listen: " + reason();
  if (!listens) hub.addresses.clear();
  listener.do_not_wait();
  hub.port = ntohs(any.sin_port);
  communicator.all_gather(hub.text());
  const Deadline deadline;
  const std::ptrdiff_t machines = communicator.placement().nodes;
  std::vector<Caller> callers;
  while (listens && std::ssize(peers_) + 1 < machines && deadline.milliseconds_left() > 0) {
    hear(listener, callers, deadline);
    for (Caller& caller : callers)
      if (caller.has_said_all() && caller.hello().secret == hub.secret && is_awaited(caller.hello().rank))
        peers_.push_back(std::make_unique<Peer>(Peer{caller.hello().rank, std::move(caller.socket), "", ""}));
    std::erase_if(callers, [](const Caller& caller) { return caller.has_said_all(); });
  }
  if (!listens) return fault;
  return std::ssize(peers_) + 1 == machines
             ? ""
             : fmt::format("rank 0 hears of {} machines, of {}", peers_.size() + 1, machines);
}

// Returns whether this rank is the first of another machine that has not connected yet.
bool BeatRelay::is_awaited(int rank) const {
  return rank > 0 && rank < page_.size() && !page_.is_local(rank) && page_.leader(rank) == rank &&
         std::none_of(peers_.begin(), peers_.end(), [&](const auto& peer) { return peer->rank == rank; });
}

std::string BeatRelay::connect_to_hub(Communicator& communicator) {
  const Hub hub = Hub::parse(communicator.all_gather("")[0]);
  if (hub.addresses.empty() || page_.leader(rank_) != rank_) return "";
  const Deadline deadline;
  RelaySocket socket;
  for (size_t i = 0; i < hub.addresses.size() && !socket.is_open(); ++i)
    socket = connected(hub.addresses[i], hub.port,
                       deadline.milliseconds_left() / static_cast<int>(hub.addresses.size() - i));
  const Hello hello{hub.secret, rank_};
  if (!socket.is_open() || ::send(socket.handle(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
    return fmt::format("rank {} cannot reach rank 0 at {}, port {}: {}", rank_, fmt::join(hub.addresses, ", "),
                       hub.port, reason());
  peers_.push_back(std::make_unique<Peer>(Peer{0, std::move(socket), "", ""}));
  return "";
}

void BeatRelay::exchange() {
  if (peers_.empty()) return;
  const int64_t now = machine_time();
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (now - exchanged_ > silence_ / 3) peer->heard = now;  // this process was suspended, and the others were too
  exchanged_ = now;
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (peer->socket.is_open()) receive(*peer);
  const bool is_due = look() || now - sent_ >= kPause * std::ssize(peers_);
  if (is_due) sent_ = now;
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (peer->socket.is_open() && (is_due || !peer->out.empty())) send(*peer, false);
}

// Reads the beats that are sent from here. Returns whether a process has come, left, died or voted, which is sent at
// once.
bool BeatRelay::look() {
  const std::vector<SentBeat> before = std::exchange(beats_, {});
  for (int rank = 0; rank < page_.size(); ++rank)
    if (rank_ == 0 || page_.is_local(rank)) beats_.push_back(sent_beat(page_, rank));
  return !std::equal(before.begin(), before.end(), beats_.begin(), beats_.end(),
                     [](const SentBeat& a, const SentBeat& b) {
                       return a.presence == b.presence && a.asked == b.asked && a.vote == b.vote;
                     });
}

void BeatRelay::receive(Peer& peer) {
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t got = ::recv(peer.socket.handle(), part.data(), part.size(), 0);
    if (got > 0) {
      peer.in.append(part.data(), static_cast<size_t>(got));
      peer.heard = machine_time();
      continue;
    }
    const bool is_silent = got < 0 && (errno == EAGAIN || errno == EINTR);
    apply(peer);
    if (peer.socket.is_open() && (!is_silent || machine_time() - peer.heard > silence_)) lose(peer);
    return;
  }
}

// Applies all complete messages. A message that no process of this run would send ends the connection, and the machine
// counts as lost.
void BeatRelay::apply(Peer& peer) {
  size_t at = 0;
  Head head;
  while (peer.in.size() - at >= sizeof head) {
    std::memcpy(&head, peer.in.data() + at, sizeof head);
    if (head.beats < 0 || head.beats > page_.size()) return lose(peer);
    const size_t bytes = sizeof head + static_cast<size_t>(head.beats) * sizeof(SentBeat);
    if (peer.in.size() - at < bytes) break;
    for (size_t b = 0; b < static_cast<size_t>(head.beats); ++b) {
      SentBeat beat;
      std::memcpy(&beat, peer.in.data() + at + sizeof head + b * sizeof beat, sizeof beat);
      if (beat.rank < 0 || beat.rank >= page_.size() || page_.is_local(beat.rank)) return lose(peer);
      set(page_[beat.rank], beat);
    }
    at += bytes;
    if (head.leaves) peer.socket.close();
  }
  peer.in.erase(0, at);
}

void BeatRelay::lose(Peer& peer) const {
  Beat& beat = page_[peer.rank];
  if (beat.presence == Presence::here) beat.presence = Presence::lost;
  peer.socket.close();
}

// Sends one message at a time: if one goes out slowly, the next one has a later state.
void BeatRelay::send(Peer& peer, bool leaves) {
  if (leaves || peer.out.empty()) peer.out += beats_for(peer, leaves);
  const ssize_t sent = ::send(peer.socket.handle(), peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
  if (sent > 0) peer.out.erase(0, static_cast<size_t>(sent));
}

// Builds a message of all beats but those of the peer's machine. If this rank leaves, all count as absent, because they
// leave soon.
std::string BeatRelay::beats_for(const Peer& peer, bool leaves) const {
  std::string text;
  Head head{0, leaves ? 1 : 0};
  for (SentBeat beat : beats_) {
    if (page_.leader(beat.rank) == peer.rank) continue;
    if (leaves && beat.presence == Presence::here) beat.presence = Presence::absent;
    append(text, beat);
    ++head.beats;
  }
  std::string message;
  append(message, head);
  return message + text;
}

}  // namespace kb
