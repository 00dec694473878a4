// Every part of the suite over every backend that this executable tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/backends/conformance/part.h"

namespace lockstep::test {
namespace {

struct PartRun {
  TestedBackend backend;
  Part part;
  int world;
};

std::vector<PartRun> all_runs() {
  std::vector<PartRun> runs;
  for (const TestedBackend& backend : tested_backends()) {
    for (const Part& part : parts()) {
      for (const int world : part.worlds) {
        runs.push_back({.backend = backend, .part = part, .world = world});
      }
    }
  }
  return runs;
}

std::string run_name(const testing::TestParamInfo<PartRun>& info) {
  return info.param.backend.name + "_" + info.param.part.name + "_world" +
         std::to_string(info.param.world);
}

void PrintTo(const PartRun& run, std::ostream* stream) {
  *stream << run.part.name << " of " << run.backend.name << " in a world of " << run.world;
}

class Conformance : public testing::TestWithParam<PartRun> {};

INSTANTIATE_TEST_SUITE_P(Every, Conformance, testing::ValuesIn(all_runs()), run_name);

TEST_P(Conformance, PartHolds) {
  const PartRun& run = GetParam();
  const PartReport report = run.part.check(run.backend, run.world);
  std::cout << report.num_calls << " calls, " << report.num_checks << " checks\n";
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(kShown, report.complaints.size()); ++i) {
    ADD_FAILURE() << report.complaints[i];
  }
  EXPECT_LE(report.complaints.size(), kShown) << "and more";
  // A backend that can do everything has nothing to refuse.
  if (run.part.name == "unsupported") return;
  EXPECT_GT(report.num_checks, 0);
}

}  // namespace
}  // namespace lockstep::test
