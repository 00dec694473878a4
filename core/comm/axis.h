// The axes of the mesh: of its dense factorisation, then those of the expert one.
#pragma once

#include <string_view>

namespace lockstep {

// pp belongs to both factorisations.
enum class Axis { kTp, kCp, kDp, kPp, kEtp, kEp, kEdp };
inline constexpr int kNumAxes = 7;
inline constexpr int kNumDenseAxes = 4;  // the first ones

std::string_view name_of(Axis axis);  // "tp", "edp" ...

}  // namespace lockstep
