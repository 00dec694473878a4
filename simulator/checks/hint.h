// Explains a wrong value by a ratio, and the ratio by group sizes: "x0.5 = 1/tp or 1/dp".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"

namespace lockstep::sim {

struct NamedSize {
  std::string_view name;
  std::int64_t size = 0;
};

// No sizes of groups.
inline constexpr std::string_view kMicroBatches = "num_micro_batches";
inline constexpr std::string_view kTargets = "targets";

// The sizes above 1 that a factor may come from. Expert ones only where the model has experts.
std::vector<NamedSize> sizes_of(const Case& c);
// And the number of targets that a mean is taken over.
std::vector<NamedSize> with_targets(std::vector<NamedSize> sizes, std::int64_t targets);

// How near a fit, and its ratio to a product of sizes, must be to be told.
struct HintTolerance {
  double fit = 0.0;    // ‖got - r reference‖ of ‖got‖
  double ratio = 0.0;  // of the product

  bool is_exact() const { return ratio <= 1e-9; }
};
// Of what f64 rounds off; and of as much as a tensor of that precision may be off by rounding,
// which stays far from what tells two products of small sizes apart.
inline constexpr HintTolerance kExactHints = {.fit = 1e-6, .ratio = 1e-9};
HintTolerance hint_tolerance(Precision precision);

// "x0.5 = 1/tp or 1/dp": every product of at most two sizes (a, 1/a, a b, 1/(a b), a/b) that equals
// the ratio, but no quotient with num_micro_batches or targets, and none at all of a ratio that is
// not exact; the ratio alone where none does, or where it is 1.
std::string explain_ratio(double ratio,
                          std::span<const NamedSize> sizes,
                          const HintTolerance& tolerance = kExactHints);

// Whether a hint names a cause, not only a ratio.
bool names_cause(std::string_view hint);

struct Compared {
  std::span<const double> got;
  std::span<const double> reference;
};

// The least-squares ratio r = <reference, got> / <reference, reference>, explained, where
// ‖got - r reference‖ fits and r is not 1 to as much. "x0 (missing)" where all of got is 0, "not
// finite" where some of it is NaN or infinite. Empty where no ratio explains it.
std::string hint_of(const Compared& compared,
                    std::span<const NamedSize> sizes,
                    const HintTolerance& tolerance = kExactHints);

}  // namespace lockstep::sim
