// Clipping: main gradients are scaled down where their norm exceeds the largest allowed (semantics,
// section 8.3).
#pragma once

#include <string>
#include <vector>

#include "core/train/gradient_buckets.h"

namespace lockstep {

// All main gradients times max_norm / (norm + eps), where that is below 1.
struct ClipEntry {
  std::string label;  // clip.scale
  double max_norm = 0.0;
  double eps = 0.0;
};

struct ClipPlan {
  std::vector<ClipEntry> entries;  // none where the recipe does not clip
};

ClipPlan plan_clip(const Recipe& recipe);
std::string to_text(const ClipPlan& plan);

// `norm` is that of all logical gradients, the same on every rank.
void clip_grads(const ClipPlan& plan, const GradientBuckets& buckets, double norm);

}  // namespace lockstep
