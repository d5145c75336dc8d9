// A TCP socket over IPv4 that never waits longer than it is told to, and this machine's addresses.
#pragma once
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kb {

// It closes the socket at the end of its life.
class RelaySocket {
 public:
  explicit RelaySocket(int handle = -1) : handle_(handle) {}
  ~RelaySocket() {
    if (handle_ >= 0) ::close(handle_);
  }
  RelaySocket(RelaySocket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  RelaySocket& operator=(RelaySocket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  int handle() const { return handle_; }
  bool is_open() const { return handle_ >= 0; }
  void close() { *this = RelaySocket(); }
  void do_not_wait() const {
    const int on = 1;
    ::fcntl(handle_, F_SETFL, O_NONBLOCK);
    ::setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // Returns false when nothing came in time.
  bool wait(short events, int milliseconds) const {
    pollfd one{handle_, events, 0};
    return ::poll(&one, 1, milliseconds) > 0;
  }

 private:
  int handle_;
};

RelaySocket new_socket();

// Returns this machine's IPv4 addresses; those that only it can reach (127.x.x.x) come last.
std::vector<std::string> own_addresses();

// Connects to a port of an address. Returns a closed socket, with the reason in errno, when the address could not be
// reached in time.
RelaySocket connected(const std::string& address, uint16_t port, int milliseconds);

}  // namespace kb
