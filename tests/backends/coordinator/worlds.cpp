// Threads that serve trials as rank processes do.
#include "tests/backends/coordinator/worlds.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

using backends::CoordinatorClient;
using backends::Go;
using backends::SeatId;
using backends::TrialOutcome;

constexpr std::chrono::seconds kPatience{20};

}  // namespace

void RankLine::submit(int communicator, const CollectiveCall& call) const {
  client.submit(communicator, {&call, 1});
}

void RankLine::wait(int communicator, std::uint64_t sequence) {
  client.wait(communicator, sequence, "test.wait");
  const Go last{.communicator = communicator, .sequence = sequence, .message = -1};
  while (std::find(gos.begin(), gos.end(), last) == gos.end()) {
    const Go go = client.next_go();
    client.done(go);
    gos.push_back(go);
  }
}

World::World(int tp, int dp) : mesh_(layout_of({.tp = tp, .dp = dp})), coordinator_({}) {}

World::~World() {
  coordinator_.say_goodbye(0, kPatience);
  for (std::thread& thread : threads_) thread.join();
}

CoordinatorClient::Options World::options(int seat, std::uint64_t generation) const {
  return {.address = {.host = "127.0.0.1", .port = coordinator_.port()},
          .seat = seat,
          .generation = generation};
}

void World::seat(int seat, std::uint64_t generation, const LineProgram& program) {
  start([this, seat, generation, program] { serve(seat, generation, program); });
}

void World::serve(int seat, std::uint64_t generation, const LineProgram& program) {
  CoordinatorClient client(options(seat, generation));
  while (const auto order = client.next_trial()) {
    RankLine line{.client = client, .rank = order->rank, .mesh = mesh_, .request = order->request};
    try {
      client.returned(program(line));
    } catch (const LineBreaks&) {
      return;
    } catch (const RankCancelled&) {
      client.cancelled();
      const std::lock_guard guard(mutex_);
      ++num_cancelled_;
      changed_.notify_all();
    } catch (const std::exception& error) {
      client.threw(error.what());
    }
  }
}

void World::wait_for_cancelled(int num) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return num_cancelled_ >= num; });
}

std::vector<SeatId> World::seats(std::uint64_t generation) const {
  std::vector<SeatId> all;
  for (int i = 0; i < mesh_.world(); ++i) all.push_back({.seat = i, .generation = generation});
  return all;
}

TrialOutcome World::run(std::uint64_t generation, std::chrono::milliseconds stall) {
  if (!coordinator_.wait_for_seats(seats(generation), kPatience, {})) {
    throw std::runtime_error("a seat has not come");
  }
  return run_at_once(generation, stall);
}

TrialOutcome World::run_at_once(std::uint64_t generation, std::chrono::milliseconds stall) {
  return coordinator_.run(
      mesh_, seats(generation), "request", {.stall = stall}, [this](const SeatId& id) {
        ++num_questions_;
        return "seat " + std::to_string(id.seat) + " was cut off";
      });
}

TrialOutcome World::run_once(const LineProgram& program, std::chrono::milliseconds stall) {
  for (int i = 0; i < mesh_.world(); ++i) seat(i, 0, program);
  return run(0, stall);
}

CollectiveCall all_reduce(std::string_view label, std::int64_t count) {
  CollectiveCall call{.label = label, .kind = CollectiveKind::kAllReduce};
  call.input.count = call.output.count = count;
  return call;
}

CollectiveCall send(std::string_view label, int peer, std::int64_t count) {
  CollectiveCall call{.label = label, .kind = CollectiveKind::kSend, .peer = GroupRank{peer}};
  call.input.count = count;
  return call;
}

CollectiveCall recv(std::string_view label, int peer, std::int64_t count) {
  CollectiveCall call{.label = label, .kind = CollectiveKind::kRecv, .peer = GroupRank{peer}};
  call.output.count = count;
  return call;
}

std::string messages(const TrialOutcome& outcome) {
  std::string text;
  for (const backends::Finding& finding : outcome.findings) text += finding.message + "\n";
  return text;
}

}  // namespace lockstep::test
