// Accepts, reads and writes; the one file of this folder that sees Boost.Asio.
#include "backends/coordinator/lines.h"

#include <fcntl.h>
#include <sys/socket.h>

// Boost.Asio 1.74 in C++20 needs std::exchange declared before it.
#include <utility>
//
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <optional>

#include "backends/coordinator/protocol.h"

namespace lockstep::backends {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Where the process has no descriptor left for a new line, it tries again so much later.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::size_t kReadBytes = std::size_t{1} << 16U;

tcp family_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

// Shared with the handlers in flight.
struct Line {
  Line(LineId line_id, tcp::socket accepted) : id(line_id), socket(std::move(accepted)) {}

  LineId id;
  tcp::socket socket;
  std::array<char, kReadBytes> room;
  FrameCutter cutter;
  std::string sending;  // handed to the system
  std::string queued;
  bool is_closing = false;  // once nothing is left to send
};

using LinePointer = std::shared_ptr<Line>;

struct Server {
  Server(int listening, const LineHooks& line_hooks)
      : hooks(line_hooks), acceptor(loop, family_of(listening), listening), pause(loop) {
    // A rank started here would else keep the port listened to after this process' end.
    ::fcntl(listening, F_SETFD, FD_CLOEXEC);
    accept();
  }

  void accept() {
    acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        open(std::move(socket));
        return accept();
      }
      pause.expires_after(kAcceptPause);
      pause.async_wait([this](const error_code& stopped) {
        if (!stopped) accept();
      });
    });
  }

  void open(tcp::socket socket) {
    error_code ignored;  // one that has gone again is found so by the first read
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto line = std::make_shared<Line>(++num_opened, std::move(socket));
    line->cutter.set_max_payload(kMaxHelloPayload);
    lines.emplace(line->id, line);
    read(line);
  }

  void read(const LinePointer& line) {
    line->socket.async_read_some(asio::buffer(line->room),
                                 [this, line](const error_code& error, std::size_t num_bytes) {
                                   if (!owns(*line)) return;
                                   if (error) return break_off(*line, error.message());
                                   line->cutter.add({line->room.data(), num_bytes});
                                   give_out(*line);
                                   if (owns(*line)) read(line);
                                 });
  }

  void give_out(Line& line) {
    try {
      while (owns(line)) {
        const std::optional<std::string_view> payload = line.cutter.next();
        if (!payload) return;
        hooks.message(line.id, *payload);
      }
    } catch (const ProtocolError& error) {
      break_off(line, error.what());
    }
  }

  void write(const LinePointer& line) {
    std::swap(line->sending, line->queued);
    asio::async_write(line->socket,
                      asio::buffer(line->sending),
                      [this, line](const error_code& error, std::size_t) {
                        if (!owns(*line)) return;
                        if (error) return break_off(*line, error.message());
                        line->sending.clear();
                        if (!line->queued.empty()) return write(line);
                        if (line->is_closing) close(line->id);
                      });
  }

  // Not so for late handlers of a line that was closed.
  bool owns(const Line& line) const { return lines.contains(line.id); }

  void break_off(const Line& line, const std::string& why) {
    const LineId id = line.id;
    close(id);
    hooks.broken(id, why);
  }

  void close(LineId id) {
    const auto found = lines.find(id);
    if (found == lines.end()) return;
    error_code ignored;
    found->second->socket.close(ignored);
    lines.erase(found);
  }

  LinePointer find(LineId id) const {
    const auto found = lines.find(id);
    return found == lines.end() ? nullptr : found->second;
  }

  bool is_sending() const {
    return std::any_of(
        lines.begin(), lines.end(), [](const auto& line) { return !line.second->sending.empty(); });
  }

  const LineHooks hooks;
  asio::io_context loop;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  LineId num_opened = 0;
  std::map<LineId, LinePointer> lines;
};

}  // namespace

struct Lines::Impl : Server {
  using Server::Server;
};

Lines::Lines(int listening, const LineHooks& hooks)
    : impl_(std::make_unique<Impl>(listening, hooks)) {}
Lines::~Lines() = default;

void Lines::send(LineId line, std::string_view frame) {
  const LinePointer found = impl_->find(line);
  if (!found) return;
  found->queued.append(frame);
  if (found->sending.empty()) impl_->write(found);
}

void Lines::set_max_payload(LineId line, std::size_t max_payload) {
  if (const LinePointer found = impl_->find(line)) found->cutter.set_max_payload(max_payload);
}

void Lines::close(LineId line) { impl_->close(line); }

void Lines::close_after_sending(LineId line) {
  const LinePointer found = impl_->find(line);
  if (!found) return;
  found->is_closing = true;
  if (found->sending.empty()) impl_->close(line);
}

bool Lines::is_sending() const { return impl_->is_sending(); }

void Lines::handle(std::chrono::steady_clock::time_point deadline) {
  impl_->loop.run_one_until(deadline);
  // All that is there: whoever has been heard of must not seem silent because this process slept.
  impl_->loop.poll();
}

}  // namespace lockstep::backends
