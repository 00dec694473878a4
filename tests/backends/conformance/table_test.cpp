// What each backend says that it can do.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "core/comm/call_rules.h"
#include "tests/backends/conformance/backends.h"

namespace lockstep::test {
namespace {

std::string_view name_of(SupportKind kind) {
  switch (kind) {
    case SupportKind::kNative:
      return "native";
    case SupportKind::kBuilt:
      return "built from ";
    case SupportKind::kNone:
      return "none: ";
  }
  return {};
}

// A line of each kind and op, and within it of dtypes for which the backend does the same.
struct Line {
  std::string call;     // gloo all_reduce max
  std::string dtypes;   // f64 f32
  std::string support;  // native
};

std::vector<Line> lines_of(const TestedBackend& backend) {
  std::vector<Line> lines;
  for (const Capability& row : capabilities_of(backend)) {
    Line line{.call = backend.name + " " + std::string(name_of(row.type.kind)),
              .dtypes = {},
              .support = std::string(name_of(row.support.kind)) + std::string(row.support.how)};
    if (reduces(row.type.kind)) line.call += " " + std::string(name_of(row.type.op));
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& other) {
      return other.call == line.call && other.support == line.support;
    });
    Line& place = same == lines.end() ? lines.emplace_back(line) : *same;
    if (row.type.kind == CollectiveKind::kBarrier) continue;
    place.dtypes += " " + std::string(name_of(row.type.dtype));
  }
  return lines;
}

TEST(ConformanceTable, PrintsWhatEachBackendCanDo) {
  const std::vector<TestedBackend> tested = tested_backends();
  ASSERT_FALSE(tested.empty());
  for (const TestedBackend& backend : tested) {
    for (const Line& line : lines_of(backend)) {
      std::cout << line.call << line.dtypes << ": " << line.support << "\n";
    }
    for (const Capability& row : capabilities_of(backend)) {
      EXPECT_EQ(row.support.how.empty(), row.support.kind == SupportKind::kNative)
          << backend.name << " " << to_text(row.type) << " is told without its reason";
    }
  }
}

}  // namespace
}  // namespace lockstep::test
