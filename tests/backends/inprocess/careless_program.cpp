// What each rank does is drawn from seed, rank and round; which collective comes, from seed and
// round.
#include "tests/backends/inprocess/careless_program.h"

#include <algorithm>
#include <utility>

#include "core/base/random.h"
#include "tests/core/tensor/cuda/gpu_work.h"

namespace lockstep::test {
namespace {

constexpr std::int64_t kPart = 5;  // elements of each rank
constexpr int kRounds = 12;

class CarelessRank {
 public:
  CarelessRank(TestRank& rank, int num_ranks, std::uint64_t seed)
      : rank_(rank), num_ranks_(num_ranks), seed_(seed) {}

  void run(CarelessRun& result) {
    const auto tp = rank_.connect(GroupKind::kTp);
    for (int round = 0; round < kRounds; ++round) play(*tp, round);
    run_call(*tp, {.label = "test.end", .kind = CollectiveKind::kBarrier});
    const auto me = static_cast<std::size_t>(rank_.rank.value);
    for (const auto& [tensor, when] : read_) {
      for (const double value : values_of(rank_.device, tensor)) {
        result.logs[me].push_back(value);
        result.notes[me].push_back(when);
      }
    }
  }

 private:
  std::uint64_t draw(int round, std::uint64_t what, bool of_rank) const {
    const auto rank = static_cast<std::uint64_t>(of_rank ? 1 + rank_.rank.value : 0);
    return random_bits(seed_, 100 * rank + what, static_cast<std::uint64_t>(round)) >> 8;
  }

  double number(int round, std::uint64_t what) const {
    return random_signed(seed_,
                         1000 + 100 * static_cast<std::uint64_t>(rank_.rank.value) + what,
                         static_cast<std::uint64_t>(round));
  }

  Tensor make(std::int64_t count) {
    kept_.push_back(rank_.empty(count));
    return kept_.back();
  }

  CollectiveCall call_of(int round) {
    const std::int64_t all = num_ranks_ * kPart;
    CollectiveCall call{.label = "test.call"};
    std::int64_t num_in = all;
    std::int64_t num_out = all;
    switch (draw(round, 1, false) % 5) {
      case 0:
        break;  // an all_reduce
      case 1:
        call.kind = CollectiveKind::kReduceScatter;
        num_out = kPart;
        break;
      case 2:
        call.kind = CollectiveKind::kAllGather;
        num_in = kPart;
        break;
      case 3:
        call.kind = CollectiveKind::kAllToAll;
        break;
      default:
        call.kind = CollectiveKind::kBroadcast;
        call.peer = GroupRank{round % num_ranks_};
    }
    input_ = make(num_in);
    const bool in_place = num_in == num_out && draw(round, 2, false) % 2 == 0;
    output_ = in_place ? input_ : make(num_out);
    call.input = input_.buffer();
    call.output = output_.buffer();
    return call;
  }

  void play(Communicator& tp, int round) {
    const std::string where = "round " + std::to_string(round) + ", ";
    const CollectiveCall call = call_of(round);
    set_slowly(rank_, input_, number(round, 1));
    const Ticket ticket = tp.submit({&call, 1});
    note(output_, where + "after the submit");
    const std::uint64_t deed = draw(round, 3, true) % 6;
    if (deed == 1) set_slowly(rank_, input_, number(round, 2));
    if (deed == 2) set_slowly(rank_, output_, number(round, 3));
    if (deed >= 1 && deed <= 3) note(output_, where + "before the wait");
    if (deed == 3) return;  // and never waits
    wait_for(rank_.device, ticket, "test.wait");
    note(output_, where + "after the wait");
    note(input_, where + "its input after the wait");
    if (deed != 4) return;
    set_slowly(rank_, output_, number(round, 4));
    note(output_, where + "overwritten after the wait");
  }

  // A copy that the device makes in its own time.
  void note(const Tensor& tensor, std::string when) {
    const Buffer from = tensor.buffer();
    const Tensor log = rank_.empty(from.count);
    const Buffer to = log.buffer();
    rank_.device.launch({.label = "test.note",
                         .reads = {&from, 1},
                         .writes = {&to, 1},
                         .body = [&](const LaunchTarget& target) {
                           if (target.native_stream != nullptr) return copy(target, from, to);
                           std::copy_n(tensor.data<double>(), from.count, log.data<double>());
                         }});
    read_.emplace_back(log, std::move(when));
  }

  TestRank& rank_;
  int num_ranks_;
  std::uint64_t seed_;
  Tensor input_;
  Tensor output_;
  std::vector<Tensor> kept_;  // until the end: calls that nobody waits for use them on
  std::vector<std::pair<Tensor, std::string>> read_;
};

}  // namespace

CarelessRun run_careless(int num_ranks, std::uint64_t seed, const sim::ClusterOptions& options) {
  const auto num = static_cast<std::size_t>(num_ranks);
  CarelessRun result{.logs = std::vector<std::vector<double>>(num),
                     .notes = std::vector<std::vector<std::string>>(num),
                     .findings = {}};
  const sim::ClusterReport report = spawn_ranks(
      num_ranks, [&](TestRank& r) { CarelessRank(r, num_ranks, seed).run(result); }, options);
  result.findings = to_text(report);
  return result;
}

void set_slowly(TestRank& rank, const Tensor& tensor, double value, Stream stream) {
  constexpr std::int64_t kNanoseconds = 50'000;
  const Buffer buffer = tensor.buffer();
  rank.device.launch({.label = "test.set",
                      .writes = {&buffer, 1},
                      .stream = stream,
                      .body = [&](const LaunchTarget& target) {
                        if (target.native_stream == nullptr) {
                          std::fill_n(tensor.data<double>(), buffer.count, value);
                          return;
                        }
                        spin(target, kNanoseconds);
                        store(target, buffer, value);
                      }});
}

}  // namespace lockstep::test
