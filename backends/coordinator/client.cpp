// A rank's side: what it sends is gathered by the sender, what it is sent is read where it waits.
#include "backends/coordinator/client.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <exception>
#include <utility>

#include "backends/coordinator/greeting.h"
#include "backends/coordinator/protocol.h"
#include "backends/coordinator/sender.h"
#include "backends/coordinator/socket.h"
#include "core/base/errors.h"

namespace lockstep::backends {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16U;
constexpr Go kNoGo{.communicator = -1, .sequence = 0, .message = -1};

bool is_unwinding() { return std::uncaught_exceptions() > 0; }

}  // namespace

struct CoordinatorClient::Impl {
  explicit Impl(const Options& options)
      : address(options.address),
        line(greet_coordinator(options)),
        sender(line.socket, options.patience) {}

  // Reads once. False at the deadline. SocketError, ProtocolError.
  bool read(std::optional<SocketTime> deadline) {
    const std::string_view bytes = line.socket.receive(room, deadline);
    if (bytes.empty()) return false;
    line.cutter.add(bytes);
    take_all();
    return true;
  }

  void take_all() {
    while (const auto payload = line.cutter.next()) {
      FromCoordinator message = coordinator_message(*payload);
      std::visit([this](auto& its) { take(its); }, message);
    }
  }

  void take(Order& its) {
    gos.clear();
    is_over = false;
    heartbeat = std::chrono::milliseconds{its.heartbeat_ms};
    order = std::move(its.order);
  }
  void take(const Go& go) { gos.push_back(go); }
  void take(const Abort& abort) {
    if (abort.trial == trial) is_over = true;
  }
  void take(Value& its) {
    if (its.request == num_requests) value = std::move(its.value);
  }
  void take(const Goodbye& /*goodbye*/) { said_goodbye = true; }
  void take(const Welcome& /*welcome*/) {}
  void take(const Refusal& refusal) { throw ProtocolError(refusal.why); }

  [[noreturn]] void lose(const std::exception& error) const {
    throw ConnectionLost(fmt::format(
        "the line to the coordinator at {} is gone: {}", to_text(address), error.what()));
  }

  // An action on the line, its errors in the user's words. While an exception unwinds the stack
  // nothing is thrown: the line's end is then remembered as the trial's.
  template <class Action>
  void on_line(const Action& action) {
    try {
      action();
    } catch (const SocketError& error) {
      if (!is_unwinding()) lose(error);
      is_over = true;
    } catch (const ProtocolError& error) {
      if (!is_unwinding()) lose(error);
      is_over = true;
    }
  }

  // True: the trial is over, and an exception already unwinds the stack.
  bool is_cancelled() const {
    if (is_over && !is_unwinding()) throw RankCancelled{};
    return is_over;
  }

  void end(Ended ended) {
    sender.stop_heartbeats();
    sender.add(frame_of(FromRank(std::move(ended))));
    on_line([this] { sender.flush(); });
    gos.clear();
    trial = 0;
    is_over = false;
  }

  const CoordinatorAddress address;
  Greeted line;
  Sender sender;
  std::array<char, kReadBytes> room;
  bool said_goodbye = false;
  // Of the trial.
  std::optional<TrialOrder> order;  // not yet given out
  std::chrono::milliseconds heartbeat{0};
  std::uint64_t trial = 0;  // 0: none
  Rank rank;
  int world = 0;
  int num_communicators = 0;
  bool is_over = false;  // elsewhere
  std::deque<Go> gos;
  // Of the store.
  std::uint64_t num_requests = 0;
  std::optional<std::string> value;  // of the latest request
};

CoordinatorClient::CoordinatorClient(const Options& options)
    : impl_(std::make_unique<Impl>(options)) {}
CoordinatorClient::~CoordinatorClient() = default;

std::string CoordinatorClient::local_address() const { return impl_->line.socket.local_address(); }

std::optional<TrialOrder> CoordinatorClient::next_trial() {
  Impl& impl = *impl_;
  try {
    impl.take_all();
    while (!impl.order) {
      if (impl.said_goodbye) return std::nullopt;
      impl.read(std::nullopt);
    }
  } catch (const SocketError&) {
    return std::nullopt;
  } catch (const ProtocolError& error) {
    impl.lose(error);
  }
  impl.trial = impl.order->number;
  impl.rank = impl.order->rank;
  impl.world = impl.order->world;
  impl.num_communicators = 0;
  impl.sender.start_heartbeats(impl.heartbeat);
  return std::exchange(impl.order, std::nullopt);
}

void CoordinatorClient::set(const std::string& key, std::string_view value) {
  impl_->sender.add(frame_of(FromRank(SetValue{.key = key, .value = std::string(value)})));
  impl_->on_line([this] { impl_->sender.flush(); });
}

std::string CoordinatorClient::get(const std::string& key, std::chrono::milliseconds timeout) {
  Impl& impl = *impl_;
  const SocketTime deadline = std::chrono::steady_clock::now() + timeout;
  impl.value.reset();
  impl.sender.add(frame_of(FromRank(GetValue{.request = ++impl.num_requests, .key = key})));
  impl.on_line([&] { impl.sender.flush(); });
  while (!impl.value) {
    if (impl.is_cancelled()) return "";
    bool is_late = false;
    impl.on_line([&] { is_late = !impl.read(deadline); });
    if (!is_late) continue;
    if (is_unwinding()) return "";
    throw ConnectionLost(fmt::format("nobody has set '{}' at the coordinator at {} within {} ms",
                                     key,
                                     to_text(impl.address),
                                     timeout.count()));
  }
  return *std::exchange(impl.value, std::nullopt);
}

int CoordinatorClient::connect(const Group& group) {
  Impl& impl = *impl_;
  LOCKSTEP_CHECK(group.rank_of(impl.rank).has_value(),
                 fmt::format("rank {} is no member of {}", impl.rank.value, to_text(group)));
  for (const Rank other : group.ranks) {
    LOCKSTEP_CHECK(other.value >= 0 && other.value < impl.world,
                   fmt::format("rank {} connects to {}, but the world has {} ranks",
                               impl.rank.value,
                               to_text(group),
                               impl.world));
  }
  impl.sender.add(frame_of(FromRank(Connect{.group = group})));
  return impl.num_communicators++;
}

void CoordinatorClient::submit(int communicator, std::span<const CollectiveCall> calls) {
  impl_->sender.add(frame_of(FromRank(
      Submit{.communicator = communicator, .calls = {calls.begin(), calls.end()}, .splits = {}})));
}

void CoordinatorClient::wait(int communicator, std::uint64_t sequence, std::string_view label) {
  if (impl_->is_cancelled()) return;
  impl_->sender.add(frame_of(FromRank(
      Wait{.communicator = communicator, .sequence = sequence, .label = std::string(label)})));
  impl_->on_line([this] { impl_->sender.flush(); });
}

Go CoordinatorClient::next_go() {
  Impl& impl = *impl_;
  while (true) {
    if (impl.is_cancelled()) return kNoGo;
    if (!impl.gos.empty()) break;
    impl.on_line([&] {
      impl.sender.flush();
      impl.read(std::nullopt);
    });
  }
  const Go go = impl.gos.front();
  impl.gos.pop_front();
  return go;
}

void CoordinatorClient::done(const Go& go) {
  impl_->sender.add(frame_of(FromRank(Done{.go = go})));
}

bool CoordinatorClient::is_trial_over() {
  impl_->on_line([this] {
    while (!impl_->is_over && impl_->read(std::chrono::steady_clock::now())) {
    }
  });
  return impl_->is_over;
}

void CoordinatorClient::returned(std::string_view result) {
  impl_->end({.kind = EndKind::kReturned, .text = std::string(result)});
}

void CoordinatorClient::threw(std::string_view error) {
  impl_->end({.kind = EndKind::kThrew, .text = std::string(error)});
}

void CoordinatorClient::cancelled() { impl_->end({.kind = EndKind::kCancelled, .text = {}}); }

}  // namespace lockstep::backends
