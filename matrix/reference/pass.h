// What layers are told in the passes over a micro-batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "matrix/reference/dropout.h"
#include "matrix/reference/heads.h"
#include "matrix/reference/rotary.h"
#include "matrix/reference/trace.h"

namespace lockstep::matrix {

// What all layers and passes share.
struct LayerSetting {
  HeadSizes sizes;
  std::int64_t sliding_window = 0;  // keys that a query sees, its own included; 0: all before it
  bool qk_norm = false;
  Rotary rotary;
  DropoutSetting dropout;
};

// One micro-batch, forward and back.
struct Pass {
  // Forward on activations, and backward on their gradients.
  void drop(std::string_view site, Matrix& x_TH) const {
    DropoutSite(setting.dropout, site).drop(first_token, x_TH);
  }

  const LayerSetting& setting;
  std::int64_t first_token = 0;            // of the micro-batch among the tokens of all steps
  std::span<const std::int64_t> places_T;  // of each token in its document
  Trace trace;
};

}  // namespace lockstep::matrix
