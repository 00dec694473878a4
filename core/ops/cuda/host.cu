#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {}
