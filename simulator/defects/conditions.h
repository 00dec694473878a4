// Conditions that several rows share: where the draw of targets cannot hide a wrong gradient, and
// which attention a row needs.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::sim {

// Some token of the batch has a target. A draw may leave few tokens without any: of six
// micro-batches of eight it does not.
inline constexpr std::string_view kAnyTarget =
    "(mask in [full, single, empty] || mask in [uneven, varying]"
    " && num_micro_batches * dp >= 6 && seq * micro_batch >= 8)";

// So has some token that attends to others than its like, without which the softmax has no
// gradient: the first of a packed document has no other.
inline constexpr std::string_view kAnyAttention =
    "(seq >= 8 && sliding_window != 1 && (mask == full"
    " || !packing && (mask == single || mask == empty && seq >= 32)"
    " || mask in [uneven, varying] && num_micro_batches * dp >= 6))";

// Most micro-batches have targets, and together more than one.
inline constexpr std::string_view kMostTargets =
    "(mask == full || mask == uneven && num_micro_batches * dp >= 6 && seq * micro_batch >= 8)";

// Micro-batches have unequal counts of targets: "empty" has targets in every third sample.
inline constexpr std::string_view kUnequalCounts =
    "(mask == single && num_micro_batches * dp > 1"
    " || mask == empty && micro_batch % 3 != 0 && num_micro_batches * dp > 2"
    " || mask in [uneven, varying] && num_micro_batches * dp >= 6 && seq * micro_batch >= 8)";

// Query and key norms are there.
inline constexpr std::string_view kHeadNorms = "qk_norm && attention == causal";

// Tensor ranks share kv heads.
inline constexpr std::string_view kSharedKvHeads =
    "attention == causal && num_key_value_heads < tp";

// Neither may have an `||` outside parentheses.
std::string both(std::string_view a, std::string_view b);

}  // namespace lockstep::sim
