// Core attention of known queries, keys and values on simulated ranks, put together over tp and cp.
#pragma once

#include <functional>
#include <vector>

#include "core/config/case.h"
#include "core/model/context_plan.h"
#include "core/model/dropout_plan.h"

namespace lockstep::test {

struct AttentionPlansEdited {
  ContextPlan context;
  DropoutPlan dropout;
};

// Full tensors, [samples, seq, heads, head_dim] row-major and [heads]; of the last dp replica.
struct AttentionRun {
  std::vector<double> out;
  std::vector<double> dq;
  std::vector<double> dk;
  std::vector<double> dv;
  std::vector<double> dsink;  // empty without a sink
  double at_padding = 0.0;    // largest gradient of keys and values that are padding
};

// The data are the same in every layout, and other ones in each global micro-batch: of it, dp rank
// d runs number d + `first`. Padding holds numbers that no result may show. Whatever the cluster
// finds, and a case that cannot exist, fails the test.
AttentionRun run_attention(
    const Case& c,
    std::int64_t first,
    const std::function<void(AttentionPlansEdited&)>& edit = [](AttentionPlansEdited&) {});

}  // namespace lockstep::test
