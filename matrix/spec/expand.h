// The cases of a spec, in the order of the product of its axes, then of its include rows.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/spec.h"

namespace lockstep::matrix {

struct NamedCase {
  std::string name;  // the varied axes in the spec's order: tp2.sp.dp2.uneven
  Case c;
  std::string invalid_reason;  // why this layout cannot exist; empty where it can
};

// Products above this need `expand: {sample: N}`.
inline constexpr std::int64_t kLargestProduct = 1'000'000;

// What `where` and `exclude` drop is not listed; what cannot exist is, with its reason. Names are
// unique. UsageError for a product that is too large, a world above the largest, or a condition
// that cannot be evaluated.
std::vector<NamedCase> expand(const Spec& spec);

}  // namespace lockstep::matrix
