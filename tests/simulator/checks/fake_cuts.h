// How a fake trial's tensors are cut over its layout: element by element, without the core's help.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"
#include "core/snapshot/shard.h"
#include "simulator/checks/oracle.h"

namespace lockstep::test {

// Where a rank stands: tp fastest, then cp, then dp.
struct FakePlace {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
};

FakePlace place_of(std::int64_t rank, const Layout& layout);

// Padding holds NaN.
std::vector<Shard> parameter_shards(const std::vector<sim::OracleTensor>& tensors,
                                    const Layout& layout,
                                    const FakePlace& place);

// Of micro-batch g: under cp the tokens of even ones are one document, those of odd ones two that
// are padded, so that their ranks hold more rows.
std::vector<Shard> activation_shards(const std::vector<sim::OracleTensor>& tensors,
                                     const Layout& layout,
                                     const FakePlace& place,
                                     std::int64_t g);

}  // namespace lockstep::test
