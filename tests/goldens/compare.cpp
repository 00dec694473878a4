// Blocks of each tensor against the expected run's.
#include "tests/goldens/compare.h"

#include <cmath>

#include "core/base/errors.h"
#include "simulator/checks/block_error.h"

namespace lockstep::test {
namespace {

void add(Distance& worst, double error, const std::string& where) {
  // Written so that NaN is worse than any number.
  if (error <= worst.error || std::isnan(worst.error)) return;
  worst = {.error = error, .where = where};
}

double block_error(const sim::OracleTensor& actual,
                   const sim::OracleTensor& expected,
                   double norm_of_all) {
  LOCKSTEP_CHECK(actual.name == expected.name && actual.shape == expected.shape,
                 actual.name + " is compared with " + expected.name);
  std::vector<double> deviations;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    deviations.push_back(std::abs(actual.values.at(i) - expected.values[i]));
  }
  return sim::BlockMeasure(expected, norm_of_all).worst(deviations).error;
}

}  // namespace

Distance distance(const Outcome& actual, const Outcome& expected) {
  Distance worst;
  add(worst, std::abs(actual.loss - expected.loss) / std::abs(expected.loss), "loss");
  add(worst,
      block_error(actual.logits_TV, expected.logits_TV, sim::norm_of_all({expected.logits_TV})),
      "logits");
  LOCKSTEP_CHECK(actual.gradients.size() == expected.gradients.size(), "as many gradients");
  const double norm = sim::norm_of_all(expected.gradients);
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    add(worst,
        block_error(actual.gradients[i], expected.gradients[i], norm),
        "gradient of " + expected.gradients[i].name);
  }
  return worst;
}

}  // namespace lockstep::test
