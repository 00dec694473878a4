// One call that the suite tries: a value from which every rank makes its buffers and what must be
// in them afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace lockstep::test {

// Of the parts that ranks give each other.
enum class Sizes {
  kEqual,       // no splits
  kEqualGiven,  // spelled out; of an all_to_all for its input alone
  kUneven,
  kSomeZero,  // the first rank's among them; where all have one count: fewer elements than ranks
  kAllZero,
  kLarge,  // uneven, beyond a thousand elements
};

// Where input and output lie. All but kApart are views into larger storages, at odd offsets.
enum class Placement {
  kApart,       // two storages of just their sizes
  kViews,       // two storages
  kNeighbours,  // one storage, the output right behind the input
  kInPlace,  // the output is the input, or the part of this rank is where it belongs in the whole
  kShifted,  // they overlap one element further on
};

struct CallCase {
  CallType type;
  Sizes sizes = Sizes::kEqual;
  Placement placement = Placement::kApart;
  bool last_is_root = false;  // of a broadcast; else the first
  std::uint64_t seed = 0;     // of its inputs
};

std::string to_text(const CallCase& call);  // all_gather f32, uneven, in place

// What differs between cases of a kind: dtype, op, sizes, placement, root. For a send it stands for
// both ends of the message.
struct CaseFactors {
  std::vector<DType> dtypes;
  std::vector<ReduceOp> ops;
  std::vector<Sizes> sizes;
  std::vector<Placement> placements;
  std::vector<bool> last_is_root;
};
CaseFactors factors_of(CollectiveKind kind);
inline constexpr int kNumFactors = 5;
std::vector<int> num_values(const CaseFactors& factors);
// `values`: one of each factor, in the order of CaseFactors.
CallCase case_of(CollectiveKind kind, const std::vector<int>& values, std::uint64_t seed);

// Elements that member `from` gives to member `to`, in a group of `size`: of a kind where all have
// one count, that count.
struct Ends {
  int from = 0;
  int to = 0;
  int size = 1;
};
std::int64_t part_size(const CallCase& call, const Ends& ends);

// The label of the suite's calls of a kind.
std::string_view label_of(CollectiveKind kind);

}  // namespace lockstep::test
