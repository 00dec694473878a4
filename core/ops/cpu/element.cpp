// Rounding a double to an element once.
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {

template <>
double rounded_once<double>(double x) {
  return x;
}

template <>
float rounded_once<float>(double x) {
  return static_cast<float>(x);
}

template <>
BF16 rounded_once<BF16>(double x) {
  return rounded_once_to_bf16(x);
}

}  // namespace lockstep::cpu
