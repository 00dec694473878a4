// What a rank observed of a trial, as bytes from its process to the one that judges it.
#pragma once

#include <string>
#include <string_view>

#include "core/train/rank_result.h"

namespace lockstep::matrix {

// Every value comes back with its own bits.
std::string to_bytes(const RankResult& result);

// UsageError for anything that to_bytes did not write.
RankResult rank_result_from_bytes(std::string_view bytes);

}  // namespace lockstep::matrix
