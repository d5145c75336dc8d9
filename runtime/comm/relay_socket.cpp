#include "runtime/comm/relay_socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <cerrno>
#include <cstring>

namespace kb {

RelaySocket new_socket() { return RelaySocket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return result;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    char text[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    const bool is_loop = (ntohl(address.sin_addr.s_addr) >> 24) == 127;
    result.insert(is_loop ? result.end() : result.begin(), text);  // machines that a test imitates use 127.x.x.x
  }
  ::freeifaddrs(all);
  return result;
}

RelaySocket connected(const std::string& address, uint16_t port, int milliseconds) {
  RelaySocket socket = new_socket();
  if (!socket.is_open()) return socket;
  socket.do_not_wait();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  int fault = ::connect(socket.handle(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  socklen_t length = sizeof fault;
  if (fault == EINPROGRESS) {
    if (!socket.wait(POLLOUT, milliseconds))
      fault = ETIMEDOUT;
    else
      ::getsockopt(socket.handle(), SOL_SOCKET, SO_ERROR, &fault, &length);
  }
  if (fault == 0) return socket;
  errno = fault;
  return RelaySocket();
}

}  // namespace kb
