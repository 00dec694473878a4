// Resolve, connect, listen, send and receive on sockets that never block by themselves.
#include "backends/coordinator/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/coordinator/coordinator.h"

namespace lockstep::backends {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// An address that does not answer must not use up the time of those after it.
constexpr std::chrono::seconds kLongestAttempt{5};

Addresses resolve(const std::string& host, int port, int flags) {
  if (port < 0 || port > 65535) {
    throw SocketError(fmt::format("{} is no port, they go from 0 to 65535", port));
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    throw SocketError(status == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(status));
  }
  return {found, &::freeaddrinfo};
}

// False at the deadline. An error of the socket counts as readiness: the next call tells it.
bool wait_until_ready(int descriptor, short events, std::optional<SocketTime> deadline) {
  while (true) {
    int patience_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      patience_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
    }
    pollfd polled{.fd = descriptor, .events = events, .revents = 0};
    const int num_ready = ::poll(&polled, 1, patience_ms);
    if (num_ready > 0) return true;
    if (num_ready == 0) return false;
    if (errno != EINTR) throw SocketError(std::strerror(errno));
  }
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void set_option(int descriptor, int level, int option, int value = 1) {
  ::setsockopt(descriptor, level, option, &value, sizeof(value));
}

// A host that has vanished is found out in half a minute, not in the two hours that are usual.
void watch_over(int descriptor) {
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

int open_socket(const addrinfo& address) {
  const int type = address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int descriptor = ::socket(address.ai_family, type, address.ai_protocol);
  if (descriptor < 0) throw SocketError(std::strerror(errno));
  return descriptor;
}

Socket connect_one(const addrinfo& address, SocketTime deadline) {
  const int descriptor = open_socket(address);
  Socket socket(descriptor);
  int error = 0;
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) throw SocketError(std::strerror(errno));
    if (!wait_until_ready(descriptor, POLLOUT, deadline)) throw SocketError("no answer");
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) throw SocketError(std::strerror(error));
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY);
  watch_over(descriptor);
  return socket;
}

std::string numeric(const sockaddr_storage& address, socklen_t size, int part) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const int status = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address),
                                   size,
                                   host,
                                   sizeof(host),
                                   port,
                                   sizeof(port),
                                   NI_NUMERICHOST | NI_NUMERICSERV);
  if (status != 0) throw SocketError(::gai_strerror(status));
  return part == NI_NUMERICHOST ? host : port;
}

std::string own_end(int descriptor, int part) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw SocketError(std::strerror(errno));
  }
  return numeric(address, size, part);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

void Socket::send(std::string_view bytes, SocketTime deadline) {
  while (!bytes.empty()) {
    const ssize_t num_sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (num_sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(num_sent));
    } else if (!would_block(errno)) {
      throw SocketError(std::strerror(errno));
    } else if (!wait_until_ready(descriptor_, POLLOUT, deadline)) {
      throw SocketError("it takes nothing more");
    }
  }
}

std::string_view Socket::receive(std::span<char> room, std::optional<SocketTime> deadline) {
  while (true) {
    const ssize_t num_read = ::recv(descriptor_, room.data(), room.size(), 0);
    if (num_read > 0) return {room.data(), static_cast<std::size_t>(num_read)};
    if (num_read == 0) throw SocketError("it has closed the line");
    if (!would_block(errno)) throw SocketError(std::strerror(errno));
    if (!wait_until_ready(descriptor_, POLLIN, deadline)) return {};
  }
}

std::string Socket::local_address() const { return own_end(descriptor_, NI_NUMERICHOST); }

Socket connect_to(const CoordinatorAddress& address, SocketTime deadline) {
  const Addresses addresses = resolve(address.host, address.port, AI_NUMERICSERV);
  std::string reason;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    try {
      return connect_one(*at,
                         std::min(deadline, std::chrono::steady_clock::now() + kLongestAttempt));
    } catch (const SocketError& error) {
      reason = error.what();
    }
  }
  throw SocketError(reason);
}

int local_port(int descriptor) { return std::stoi(own_end(descriptor, NI_NUMERICSERV)); }

int listen_on(const std::string& host, int port) {
  try {
    const Addresses addresses = resolve(host, port, AI_NUMERICSERV | AI_PASSIVE);
    const int descriptor = open_socket(*addresses);
    // A port of a run that has just ended can be had at once.
    set_option(descriptor, SOL_SOCKET, SO_REUSEADDR);
    if (::bind(descriptor, addresses->ai_addr, addresses->ai_addrlen) == 0 &&
        ::listen(descriptor, SOMAXCONN) == 0) {
      return descriptor;
    }
    const std::string reason = std::strerror(errno);
    ::close(descriptor);
    throw SocketError(reason);
  } catch (const SocketError& error) {
    throw ListenError(fmt::format(
        "cannot listen on {}:{}: {}; an address of this host and a port that is free would do, 0 "
        "takes any",
        host,
        port,
        error.what()));
  }
}

}  // namespace lockstep::backends
