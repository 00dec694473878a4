// Rounding to the element types of recipes, and what one rounding may cost.
#pragma once

#include "core/config/case.h"

namespace lockstep::sim {

// To the nearest, ties to even; NaN stays NaN.
double rounded_to_f32(double value);
double rounded_to_bf16(double value);
// To the type that masters and optimizer state of the precision have: f32 for bf16.
double rounded_to_state(Precision precision, double value);

struct StateLimits {
  double epsilon = 0.0;   // from 1 to the next number of the type
  double smallest = 0.0;  // above 0
};
StateLimits state_limits(Precision precision);

}  // namespace lockstep::sim
