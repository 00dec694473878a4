// A model of two parameters for tests of plans and executors: one cut over tp with a padded row,
// one that every rank holds whole.
#pragma once

#include "core/train/gradient_buckets.h"

namespace lockstep::test {

inline constexpr ParameterId kCut{0};
inline constexpr ParameterId kWhole{1};

// `cut` is [5, 2], padded to 6 rows on two tp ranks; `whole` is [3].
inline ParameterTable two_parameters(std::int64_t tp) {
  const Cut cut{.dim = 0, .axis = Axis::kTp, .num_parts = tp, .part_size = (5 + tp - 1) / tp};
  return {{.name = "cut", .full_shape = {5, 2}, .fan_in = 2, .cut = cut},
          {.name = "whole", .full_shape = {3}, .init = InitKind::kNormWeight}};
}

// `whole` is bucket 0, `cut` bucket 1.
inline BucketPlan a_bucket_each() {
  return {{{.slots = {{.parameter = kWhole, .offset = 0}}, .num_elements = 64},
           {.slots = {{.parameter = kCut, .offset = 0}}, .num_elements = 64}}};
}

}  // namespace lockstep::test
