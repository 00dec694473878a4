// <A x, y> = <x, A^T y> over all ranks of a group, for each collective and its adjoint.
#include <fmt/format.h>

#include <numeric>

#include "tests/backends/conformance/elements.h"
#include "tests/backends/conformance/part.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {
namespace {

using Splits = std::vector<std::int64_t>;

// A linear map as a call: sizes of what goes in and comes out on this rank, and its splits.
struct Map {
  CollectiveKind kind;
  std::int64_t num_in = 0;
  std::int64_t num_out = 0;
  Splits input_splits = {};
  Splits output_splits = {};
};

std::int64_t sum_of(const Splits& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

class AdjointTest {
 public:
  AdjointTest(TestRank& rank, Communicator& communicator, RankNotes& notes)
      : rank_(rank),
        communicator_(communicator),
        notes_(notes),
        me_(static_cast<std::size_t>(rank_in(communicator, rank.rank).value)) {}

  void all_pairs() {
    const Splits parts = parts_of_members();
    const Map gather{.kind = CollectiveKind::kAllGather,
                     .num_in = parts[me_],
                     .num_out = sum_of(parts),
                     .output_splits = parts};
    const Map scatter{.kind = CollectiveKind::kReduceScatter,
                      .num_in = sum_of(parts),
                      .num_out = parts[me_],
                      .input_splits = parts};
    hold(gather, scatter);
    hold(scatter, gather);
    const Map reduce{.kind = CollectiveKind::kAllReduce, .num_in = 7, .num_out = 7};
    hold(reduce, reduce);
    const Splits sent = parts_of_pairs(true);
    const Splits received = parts_of_pairs(false);
    hold({.kind = CollectiveKind::kAllToAll,
          .num_in = sum_of(sent),
          .num_out = sum_of(received),
          .input_splits = sent,
          .output_splits = received},
         {.kind = CollectiveKind::kAllToAll,
          .num_in = sum_of(received),
          .num_out = sum_of(sent),
          .input_splits = received,
          .output_splits = sent});
    hold_broadcast();
  }

 private:
  Splits parts_of_members() const {
    Splits parts;
    for (int i = 0; i < communicator_.group().size(); ++i) parts.push_back(1 + 2 * i % 5);
    return parts;
  }

  // From member i to member j: (i + 2 j) % 4 elements, but one of a group of one.
  Splits parts_of_pairs(bool sent) const {
    Splits parts;
    const int size = communicator_.group().size();
    const int me = static_cast<int>(me_);
    for (int other = 0; other < size; ++other) {
      const int from = sent ? me : other;
      const int to = sent ? other : me;
      parts.push_back(size == 1 ? 1 : (from + 2 * to) % 4);
    }
    return parts;
  }

  Tensor draw(std::int64_t count) {
    ++stream_;
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(input_units(stream_, rank_.rank, i)));
    }
    return rank_.tensor(values);
  }

  Tensor apply(const Map& map, const Tensor& x) {
    const Tensor result = rank_.empty(map.num_out);
    run({.label = "conformance.map",
         .kind = map.kind,
         .input = x.buffer(),
         .output = result.buffer(),
         .input_splits = map.input_splits,
         .output_splits = map.output_splits});
    return result;
  }

  void run(const CollectiveCall& call) {
    ++notes_.num_calls;
    run_call(communicator_, call);
  }

  // Integers small enough that both products are exact.
  void compare(std::string_view what, double left, double right) {
    const Tensor both = rank_.tensor({left, right});
    run({.label = "conformance.products",
         .kind = CollectiveKind::kAllReduce,
         .input = both.buffer(),
         .output = both.buffer()});
    const std::vector<double> sums = values_of(rank_.device, both);
    const bool holds = sums[0] == sums[1] && sums[0] != 0.0;
    notes_.check(holds ? ""
                       : fmt::format("<A x, y> of {} on {} is {}, but <x, A^T y> is {}",
                                     what,
                                     to_text(communicator_.group()),
                                     sums[0],
                                     sums[1]));
  }

  double inner(const Tensor& a, const Tensor& b) {
    const std::vector<double> left = values_of(rank_.device, a);
    const std::vector<double> right = values_of(rank_.device, b);
    return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
  }

  void hold(const Map& map, const Map& adjoint) {
    const Tensor x = draw(map.num_in);
    const Tensor y = draw(map.num_out);
    compare(name_of(map.kind), inner(apply(map, x), y), inner(x, apply(adjoint, y)));
  }

  // The adjoint of a broadcast is the sum of all ranks' y at the root.
  void hold_broadcast() {
    const GroupRank root{communicator_.group().size() - 1};
    const bool is_root = me_ == static_cast<std::size_t>(root.value);
    const Tensor x = draw(5);
    const Tensor y = draw(5);
    const Tensor copy = rank_.empty(5);
    run({.label = "conformance.map",
         .kind = CollectiveKind::kBroadcast,
         .input = is_root ? x.buffer() : Buffer{},
         .output = copy.buffer(),
         .peer = root});
    const Map sum{.kind = CollectiveKind::kAllReduce, .num_in = 5, .num_out = 5};
    const double right = inner(x, apply(sum, y));
    compare("broadcast", inner(copy, y), is_root ? right : 0.0);
  }

  TestRank& rank_;
  Communicator& communicator_;
  RankNotes& notes_;
  std::size_t me_;
  std::uint64_t stream_ = 5000;
};

}  // namespace

PartReport check_adjoints(const TestedBackend& backend, int world) {
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    for (const auto& communicator : connect_all(r, group_kinds_of_world(world))) {
      if (communicator) AdjointTest(r, *communicator, notes).all_pairs();
    }
  });
}

}  // namespace lockstep::test
