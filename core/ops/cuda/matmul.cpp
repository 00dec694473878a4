#include "core/ops/cuda/bodies.h"

namespace lockstep::cuda {}
