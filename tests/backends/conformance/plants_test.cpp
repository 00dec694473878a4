// Each planted bug is caught by the parts of the suite that are named for it.
#include "tests/backends/conformance/plants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/backends/conformance/part.h"

namespace lockstep::test {
namespace {

class Plants : public testing::TestWithParam<Plant> {};

std::string plant_name(const testing::TestParamInfo<Plant>& info) {
  return info.param.backend.name;
}

INSTANTIATE_TEST_SUITE_P(Every, Plants, testing::ValuesIn(plants()), plant_name);

// Of four ranks, which have groups that are not the first of their kind, or as many as it takes.
int world_of(const Part& part) {
  constexpr int kWorld = 4;
  const bool takes = std::find(part.worlds.begin(), part.worlds.end(), kWorld) != part.worlds.end();
  return takes ? kWorld : part.worlds.back();
}

TEST_P(Plants, AreCaughtByTheNamedParts) {
  const Plant& plant = GetParam();
  for (const Part& part : parts()) {
    const PartReport report = part.check(plant.backend, world_of(part));
    const auto named = std::find(plant.caught_by.begin(), plant.caught_by.end(), part.name);
    if (report.complaints.empty()) {
      EXPECT_EQ(named, plant.caught_by.end()) << part.name << " has caught nothing";
      continue;
    }
    std::cout << part.name << ": " << report.complaints.size()
              << " complaints, the first: " << report.complaints.front() << "\n";
    EXPECT_FALSE(plant.caught_by.empty()) << part.name << " complains of a right backend";
    if (named == plant.caught_by.end() || named != plant.caught_by.begin()) continue;
    EXPECT_TRUE(std::any_of(report.complaints.begin(),
                            report.complaints.end(),
                            [&](const std::string& complaint) {
                              return complaint.find(plant.complaint) != std::string::npos;
                            }))
        << part.name << " never says '" << plant.complaint << "'";
  }
}

}  // namespace
}  // namespace lockstep::test
