// Who is here, what they want of the store, and one trial at a time.
#include "backends/coordinator/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/coordinator/lines.h"
#include "backends/coordinator/protocol.h"
#include "backends/coordinator/socket.h"
#include "backends/coordinator/store.h"
#include "backends/coordinator/trial.h"
#include "core/base/errors.h"

namespace lockstep::backends {
namespace {

using Clock = std::chrono::steady_clock;

// How often somebody who may have given up is asked.
constexpr std::chrono::milliseconds kAskInterval{100};
// A line that is not a rank's: of the coordinator's own requests to the store.
constexpr LineId kOwnLine = 0;

struct Seat {
  LineId line = 0;
  // It was told that its trial is over and did not end by itself: what it says is of no use.
  bool spent = false;
};

// Who served the last trial of some number of ranks.
struct Lineup {
  std::vector<SeatId> seats;  // none: that trial did not end well
  std::uint64_t number = 0;
};

struct TrialUnderWay {
  TrialUnderWay(const Trial::Options& options,
                std::map<SeatId, Rank> rank_of_seat,
                const std::function<std::string(const SeatId&)>& ask_how_ended)
      : trial(options, Clock::now()), ranks(std::move(rank_of_seat)), how_ended(ask_how_ended) {}

  Trial trial;
  std::map<SeatId, Rank> ranks;
  const std::function<std::string(const SeatId&)>& how_ended;
};

}  // namespace

struct Coordinator::Impl {
  explicit Impl(int listening)
      : port(local_port(listening)),
        lines(listening,
              {.message = [this](LineId line, std::string_view bytes) { on_payload(line, bytes); },
               .broken = [this](LineId line, const std::string&) { on_broken(line); }}) {}

  void on_payload(LineId line, std::string_view payload) {
    try {
      const FromRank message = rank_message(payload);
      const auto seat = seat_of_line.find(line);
      if (seat == seat_of_line.end()) {
        greet(line, message);
      } else if (const auto* set = std::get_if<SetValue>(&message)) {
        set_value(set->key, set->value);
        tell_trial(seat->second, message);
      } else if (const auto* get = std::get_if<GetValue>(&message)) {
        get_value(*get, line);
        tell_trial(seat->second, message);
      } else {
        tell_trial(seat->second, message);
      }
    } catch (const ProtocolError& error) {
      lines.close(line);
      on_gone(line, std::string("its line was cut: ") + error.what());
    }
  }

  void on_broken(LineId line) { on_gone(line, ""); }

  void greet(LineId line, const FromRank& message) {
    const auto* hello = std::get_if<Hello>(&message);
    if (hello == nullptr || hello->magic != kProtocolMagic) throw ProtocolError("it is no rank");
    if (hello->version != kProtocolVersion) {
      return refuse(line,
                    fmt::format("it speaks version {} of the protocol, this coordinator {}: both "
                                "must be of one build",
                                hello->version,
                                kProtocolVersion));
    }
    const SeatId id{.seat = hello->seat, .generation = hello->generation};
    if (seats.contains(id)) {
      return refuse(line,
                    fmt::format("seat {} is taken in generation {}: another process has come for "
                                "it before",
                                id.seat,
                                id.generation));
    }
    seats[id].line = line;
    seat_of_line[line] = id;
    lines.set_max_payload(line, kMaxPayload);
    lines.send(line, frame_of(Welcome{}));
    if (says_goodbye) part_from(id);
  }

  void refuse(LineId line, const std::string& why) {
    lines.send(line, frame_of(Refusal{.why = why}));
    lines.close_after_sending(line);
  }

  void set_value(const std::string& key, const std::string& value) {
    for (const StoreWaiter& waiter : store.set(key, value)) {
      if (waiter.line == kOwnLine) continue;
      lines.send(waiter.line, frame_of(Value{.request = waiter.request, .value = value}));
    }
  }

  void get_value(const GetValue& get, LineId line) {
    const auto value = store.get(get.key, {.line = line, .request = get.request});
    if (value) lines.send(line, frame_of(Value{.request = get.request, .value = *value}));
  }

  void tell_trial(const SeatId& id, const FromRank& message) {
    if (!under_way || seats.at(id).spent) return;
    const auto rank = under_way->ranks.find(id);
    if (rank == under_way->ranks.end()) return;
    under_way->trial.take(rank->second, message, Clock::now());
  }

  // `why`: for what the coordinator itself has cut the line; else it broke.
  void on_gone(LineId line, const std::string& why) {
    store.forget(line);
    const auto found = seat_of_line.find(line);
    if (found == seat_of_line.end()) return;
    const SeatId id = found->second;
    const bool was_spent = seats.at(id).spent;
    seat_of_line.erase(found);
    seats.erase(id);
    if (!under_way || was_spent) return;
    const auto rank = under_way->ranks.find(id);
    if (rank == under_way->ranks.end() || under_way->trial.has_ended(rank->second)) return;
    lose(rank->second, id, why);
  }

  void lose(Rank rank, const SeatId& id, const std::string& why) {
    const std::string how = why.empty() ? under_way->how_ended(id) : why;
    under_way->trial.lost(rank, how, Clock::now());
  }

  bool are_here(const std::vector<SeatId>& wanted) const {
    return std::all_of(wanted.begin(), wanted.end(), [&](const SeatId& id) {
      const auto found = seats.find(id);
      return found != seats.end() && !found->second.spent;
    });
  }

  void part_from(const SeatId& id) {
    lines.send(seats.at(id).line, frame_of(Goodbye{}));
    told.insert(id.seat);
  }

  // The number under which they may use again what they have connected.
  std::uint64_t lineup_of(const std::vector<SeatId>& chosen) {
    Lineup& lineup = lineups[chosen.size()];
    if (lineup.seats != chosen) lineup = {.seats = chosen, .number = ++num_lineups};
    return lineup.number;
  }

  void give_orders(const std::vector<SeatId>& chosen,
                   const std::string& request,
                   const TrialLimits& limits) {
    const std::int64_t heartbeat_ms = Trial::heartbeat_interval(limits).count();
    const std::uint64_t lineup = lineup_of(chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Rank rank{static_cast<int>(i)};
      if (!are_here({chosen[i]})) {
        lose(rank, chosen[i], "");
        continue;
      }
      const TrialOrder order{.number = num_trials,
                             .rank = rank,
                             .world = static_cast<int>(chosen.size()),
                             .lineup = lineup,
                             .request = request};
      lines.send(seats.at(chosen[i]).line,
                 frame_of(Order{.order = order, .heartbeat_ms = heartbeat_ms}));
    }
  }

  TrialOutcome end_trial() {
    for (const auto& [id, rank] : under_way->ranks) {
      const auto seat = seats.find(id);
      if (seat == seats.end() || under_way->trial.has_ended(rank)) continue;
      seat->second.spent = true;
      lines.send(seat->second.line, frame_of(Abort{.trial = num_trials}));
    }
    TrialOutcome outcome = under_way->trial.finish(Clock::now());
    if (!outcome.findings.empty()) lineups[under_way->ranks.size()].seats.clear();
    under_way.reset();
    return outcome;
  }

  const int port;
  Store store;
  std::map<SeatId, Seat> seats;
  std::map<LineId, SeatId> seat_of_line;
  std::set<int> told;  // seats, of the goodbye
  bool says_goodbye = false;
  std::uint64_t num_trials = 0;
  std::uint64_t num_lineups = 0;
  std::map<std::size_t, Lineup> lineups;  // by number of ranks
  std::optional<TrialUnderWay> under_way;
  Lines lines;
};

Coordinator::Coordinator(const CoordinatorOptions& options)
    : impl_(std::make_unique<Impl>(
          options.listening >= 0 ? options.listening : listen_on(options.host, options.port))) {}
Coordinator::~Coordinator() = default;

int Coordinator::port() const { return impl_->port; }

bool Coordinator::is_here(const SeatId& id) {
  impl_->lines.handle(Clock::now());
  return impl_->are_here({id});
}

bool Coordinator::wait_for_seats(const std::vector<SeatId>& seats,
                                 std::chrono::milliseconds patience,
                                 const std::function<bool()>& give_up) {
  const auto deadline = Clock::now() + patience;
  auto next_question = Clock::now();
  while (!impl_->are_here(seats)) {
    const auto now = Clock::now();
    if (now >= deadline) return false;
    if (now >= next_question) {
      if (give_up && give_up()) return false;
      next_question = now + kAskInterval;
    }
    impl_->lines.handle(std::min(deadline, next_question));
  }
  return true;
}

void Coordinator::set(const std::string& key, const std::string& value) {
  impl_->set_value(key, value);
}

std::optional<std::string> Coordinator::get(const std::string& key,
                                            std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (true) {
    const auto value = impl_->store.get(key, {.line = kOwnLine, .request = 0});
    if (value) return value;
    impl_->store.forget(kOwnLine);
    if (Clock::now() >= deadline) return std::nullopt;
    impl_->lines.handle(deadline);
  }
}

TrialOutcome Coordinator::run(const Mesh& mesh,
                              const std::vector<SeatId>& seats,
                              const std::string& request,
                              const TrialLimits& limits,
                              const std::function<std::string(const SeatId&)>& how_ended,
                              const std::vector<int>& processes) {
  LOCKSTEP_CHECK(std::ssize(seats) == mesh.world(),
                 fmt::format("{} seats for a world of {}", seats.size(), mesh.world()));
  Impl& impl = *impl_;
  ++impl.num_trials;
  std::map<SeatId, Rank> ranks;
  for (std::size_t i = 0; i < seats.size(); ++i) ranks[seats[i]] = Rank{static_cast<int>(i)};
  LOCKSTEP_CHECK(ranks.size() == seats.size(), "one seat has two ranks of a trial");
  const auto send_go = [&](Rank rank, const Go& go) {
    const auto seat = impl.seats.find(seats[static_cast<std::size_t>(rank.value)]);
    if (seat != impl.seats.end()) impl.lines.send(seat->second.line, frame_of(go));
  };
  impl.under_way.emplace(
      Trial::Options{.mesh = mesh, .limits = limits, .send_go = send_go, .processes = processes},
      std::move(ranks),
      how_ended);
  impl.give_orders(seats, request, limits);
  while (!impl.under_way->trial.is_over(Clock::now())) {
    impl.lines.handle(impl.under_way->trial.due());
  }
  return impl.end_trial();
}

void Coordinator::say_goodbye(int num, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  impl_->says_goodbye = true;
  for (const auto& [id, seat] : impl_->seats) impl_->part_from(id);
  while ((std::ssize(impl_->told) < num || impl_->lines.is_sending()) && Clock::now() < deadline) {
    impl_->lines.handle(deadline);
  }
}

}  // namespace lockstep::backends
