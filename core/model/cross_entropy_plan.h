// How a case's loss goes over its vocabulary.
#pragma once

#include "core/config/case.h"
#include "core/parallel/vocabulary.h"

namespace lockstep {

// Over the whole real vocabulary: padding weighs nothing, and a label smoothing of s spread over
// the other V - 1 ids is a weight of s V / (V - 1) spread over all V (semantics, section 13).
CrossEntropyPlan plan_cross_entropy(const Case& c);

}  // namespace lockstep
