// A rank's parameters lie on aligned borders, zeroed.
#include "core/model/parameters.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

class ParametersTest : public testing::Test, protected test::OpFixture {};

TEST_F(ParametersTest, ViewsStartOnBordersAndDoNotOverlap) {
  const BlockLayout layout = lay_out({1, 64, 65, 3});
  EXPECT_EQ(layout.offsets, (std::vector<std::int64_t>{0, 64, 128, 256}));
  EXPECT_EQ(layout.num_elements, 320);
}

TEST_F(ParametersTest, EachHasItsLocalShapeAndStartsAtZero) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 8;
  const ParameterTable table = describe_model(c.model, c.layout);
  const Parameters parameters(ops(), table);
  ASSERT_EQ(parameters.size(), table.size());
  const Parameter embedding = parameters[{0}];
  EXPECT_EQ(embedding.value.shape, Shape({16, 32}));
  for (const double value : test::values_of(embedding.value)) EXPECT_EQ(value, 0.0);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(parameters[{static_cast<int>(i)}].value.offset % kViewAlignment, 0);
  }
}

}  // namespace
}  // namespace lockstep
