// How attention reaches the tokens of other context-parallel ranks (semantics, section 3).
//
// With a2a the ranks of a group exchange tokens for heads; with all_gather each gathers all keys;
// with p2p keys travel round a ring, block by block; a2a+p2p exchanges heads within inner groups
// and lets keys travel between them. What a query sees follows from tables of tokens alone, so that
// no order of tokens needs to be restored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/model/sequence.h"

namespace lockstep {

// A block of keys, at hand in turn on every rank of a ring: of the rank that many places before.
struct RingStep {
  std::string label;              // forward.ring1
  std::int64_t owner = 0;         // places back on the ring, of the tokens that keys are taken for
  bool uses_own_keys = false;     // those that the rank started with, instead of those at hand
  bool passes_keys = false;       // on to the next rank, for the next step
  bool passes_gradients = false;  // alike, of a backward step: after the last one they are home
};

struct RingPlan {
  GroupKind group = GroupKind::kCp;
  std::vector<RingStep> forward;
  std::vector<RingStep> backward;
};

struct ContextPlan {
  // Causal attention of whole sequences, on kernels that keep its probabilities.
  bool is_whole = true;
  std::optional<GroupKind> heads_group = {};  // exchanges tokens for heads
  std::optional<GroupKind> keys_group = {};   // gathers keys and values
  std::optional<RingPlan> ring = {};
  std::int64_t window = 0;
  bool uses_sink = false;
  // A query sees its own document alone, by tokens' places in it; or all that lies before it.
  bool keeps_documents_apart = true;
  SequenceCut tokens;  // by which every rank makes the tables of all
};

ContextPlan plan_context(const Case& c);
std::string to_text(const ContextPlan& plan);

// The parts of a sequence whose tokens a rank's queries are, and those of each block of its keys.
struct AttendedParts {
  std::vector<std::int64_t> queries;
  std::vector<std::vector<std::int64_t>> forward_keys;   // by block: ring step, or one alone
  std::vector<std::vector<std::int64_t>> backward_keys;  // alike
};
AttendedParts attended_parts(const ContextPlan& plan, const RankContext& context);

// The table (attention_args.h) of the tokens of these parts, one after the other.
Tensor token_table(const OpContext& ops,
                   const ContextPlan& plan,
                   const Documents& documents,
                   const std::vector<std::int64_t>& parts);

}  // namespace lockstep
