// The clip plan and its executor.
#include "core/train/clip.h"

#include <fmt/format.h>

namespace lockstep {

ClipPlan plan_clip(const Recipe& recipe) {
  if (recipe.clip == 0.0) return {};
  return {{{.label = "clip.scale", .max_norm = recipe.clip, .eps = 1e-6}}};
}

std::string to_text(const ClipPlan& plan) {
  std::string text;
  for (const ClipEntry& entry : plan.entries) {
    text += fmt::format("{}: to norm {}, eps {}\n", entry.label, entry.max_norm, entry.eps);
  }
  return text;
}

void clip_grads(const ClipPlan& plan, const GradientBuckets& buckets, double norm) {
  for (const ClipEntry& entry : plan.entries) {
    const double coefficient = entry.max_norm / (norm + entry.eps);
    if (!(coefficient < 1.0)) continue;
    buckets.scale_all(coefficient, entry.label);
  }
}

}  // namespace lockstep
