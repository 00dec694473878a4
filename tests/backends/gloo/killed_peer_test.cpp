// A process that is killed in the midst of a transfer: the others end by an exception, not by
// std::terminate in Gloo's own thread, and the coordinator names who was lost.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

constexpr int kNumRanks = 3;
constexpr int kVictim = 1;
constexpr int kEndedByException = 7;

// 16 MiB: more than sockets hold, so that it is not over at once.
constexpr std::int64_t kCount = std::int64_t{1} << 21;

// Kills the process as soon as the operation has begun to write its output.
void kill_in_the_midst(const Tensor& output) {
  volatile const double* first = output.data<double>();
  while (*first != *first) std::this_thread::yield();
  ::kill(::getpid(), SIGKILL);
}

void run_program(const TestRank& r) {
  const auto tp = r.connect(GroupKind::kTp);
  const Tensor x = r.tensor(std::vector<double>(kCount, 1.0));
  const Tensor y = r.empty(kCount);
  const CollectiveCall call{.label = "test.sum", .input = x.buffer(), .output = y.buffer()};
  run_call(*tp, call);
  const Tensor z = r.empty(kCount);
  std::jthread killer;
  if (r.rank.value == kVictim) killer = std::jthread([&] { kill_in_the_midst(z); });
  run_call(*tp, {.label = "test.interrupted", .input = x.buffer(), .output = z.buffer()});
  // More than the victim takes part in.
  run_call(*tp, {.label = "test.after", .input = x.buffer(), .output = y.buffer()});
}

int serve(int seat, int port, const Mesh& mesh) {
  backends::CoordinatorClient client(
      {.address = {.host = "127.0.0.1", .port = port}, .seat = seat, .generation = 1});
  backends::GlooConnections connections(client, {.timeout = std::chrono::seconds(5)});
  const auto order = client.next_trial();
  try {
    const auto transport = backends::make_gloo_transport(client, connections, *order);
    CpuDevice device;
    run_program({.rank = order->rank, .transport = *transport, .device = device, .mesh = mesh});
    return 0;
  } catch (const RankCancelled&) {
    return kEndedByException;
  } catch (const std::exception& error) {
    client.threw(error.what());
    return kEndedByException;
  }
}

TEST(GlooPeer, ThatIsKilledInTheMidstOfACollectiveIsNamedAndTakesNobodyAlong) {
  const Mesh mesh(layout_of({.tp = kNumRanks}));
  backends::Coordinator coordinator({});
  std::vector<backends::SeatId> seats;
  std::vector<pid_t> processes;
  for (int seat = 0; seat < kNumRanks; ++seat) {
    seats.push_back({.seat = seat, .generation = 1});
    const pid_t process = ::fork();
    if (process == 0) std::_Exit(serve(seat, coordinator.port(), mesh));
    processes.push_back(process);
  }
  ASSERT_TRUE(coordinator.wait_for_seats(seats, std::chrono::seconds(20), [] { return false; }));
  const backends::TrialOutcome outcome =
      coordinator.run(mesh, seats, {}, {}, [](const backends::SeatId& seat) {
        return "gone from seat " + std::to_string(seat.seat);
      });
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings[0].ranks, std::vector<Rank>{{kVictim}});
  EXPECT_NE(outcome.findings[0].message.find("gone from seat 1"), std::string::npos)
      << outcome.findings[0].message;
  for (int seat = 0; seat < kNumRanks; ++seat) {
    int status = 0;
    ::waitpid(processes[static_cast<std::size_t>(seat)], &status, 0);
    if (seat == kVictim) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kEndedByException)
          << "seat " << seat << " ended with status " << status;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
