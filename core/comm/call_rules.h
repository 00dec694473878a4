// What must hold of one collective call on its own, and how its buffers fall into ranks' parts: the
// same on every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/comm/communicator.h"

namespace lockstep {

bool is_message(CollectiveKind kind);  // between two members, not among all
bool reduces(CollectiveKind kind);

// Why `call` cannot be made by member `me` of a group of `size`; none where it can.
std::optional<std::string> why_wrong(const CollectiveCall& call, GroupRank me, int size);

// Elements per rank; empty for equal parts.
using Splits = std::span<const std::int64_t>;
std::string splits_to_text(Splits splits);  // [3, 0, 2]

// One rank's part of a buffer that holds one for each.
struct Part {
  std::size_t index = 0;  // the rank's place in its group
  std::size_t of = 1;     // ranks of the group
};
std::int64_t part_count(const Buffer& buffer, Splits splits, const Part& part);
// Elements before it.
std::int64_t part_offset(const Buffer& buffer, Splits splits, const Part& part);

}  // namespace lockstep
