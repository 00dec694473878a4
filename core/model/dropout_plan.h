// Dropout: which random stream each site draws from, and what tells ranks apart in it (semantics,
// sections 1.5 and 2.9).
//
// What is replicated must be dropped alike on its ranks, what is sharded not, and neither may
// depend on the layout: a mask is a function of the site and of the element's index in the full
// tensor, and every stream has the same seed on all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/autograd/functions.h"
#include "core/config/case.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

enum class RandomStream {
  kDefault,         // of what tensor ranks hold in copies
  kTensorParallel,  // of what they hold in parts
  kExpert,          // of what expert ranks hold in parts: layers of experts will draw from it
};
inline constexpr int kNumRandomStreams = 3;

// Which index of an element a mask is a function of.
enum class MaskIndex {
  kFull,   // in the full tensor
  kLocal,  // in the rank's own part
};

struct StreamEntry {
  std::int64_t seed = 0;
  std::optional<Axis> seed_axis = {};  // a rank's coordinate on it is added to the seed
  MaskIndex index = MaskIndex::kFull;
};

struct DropoutPlan {
  double probability = 0.0;
  StreamEntry default_stream;
  StreamEntry tensor_parallel_stream;
  StreamEntry expert_stream;
  RandomStream residual = RandomStream::kDefault;          // embedding, attention and MLP outputs
  RandomStream attention = RandomStream::kTensorParallel;  // probabilities, by head
  RandomStream experts = RandomStream::kExpert;

  const StreamEntry& of(RandomStream stream) const;
  StreamEntry& of(RandomStream stream);
};

DropoutPlan plan_dropout(const Case& c);
std::string to_text(const DropoutPlan& plan);

// What a rank draws at a site, named by its module; the probability is 0 where nothing is dropped.
Dropout dropout_at(const DropoutPlan& plan,
                   RandomStream stream,
                   const RankContext& context,
                   const std::string& module);

// Dropout on the residual stream after a module.
class ResidualDropout {
 public:
  // `width` of the residual stream.
  ResidualDropout(const RankContext& context,
                  const DropoutPlan& plan,
                  const std::string& module,
                  std::int64_t width);
  // `rows` are those of SequenceTables.
  Variable forward(Tape& tape, const Variable& x, const Tensor& rows) const;

 private:
  Dropout dropout_;
  std::int64_t width_;
};

}  // namespace lockstep
