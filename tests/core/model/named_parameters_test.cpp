// Parameters by name: those that are there, those that may be, and those that must.
#include "core/model/named_parameters.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

class NamedParametersTest : public testing::Test, protected test::OpFixture {
 protected:
  const ParameterTable table_{{.name = "biased.weight", .full_shape = {3, 2}},
                              {.name = "biased.bias", .full_shape = {3}},
                              {.name = "plain.weight", .full_shape = {2, 5}}};
  const Parameters parameters_{ops(), table_};
  const NamedParameters named_{table_, parameters_};
};

TEST_F(NamedParametersTest, ANameFindsItsRowOfTheTable) {
  EXPECT_EQ(named_.of("plain.weight").value.shape, Shape({2, 5}));
  EXPECT_EQ(named_.spec_of("plain.weight").name, "plain.weight");
}

TEST_F(NamedParametersTest, AParameterThatMustBeThereIsAnErrorWhereItIsNot) {
  EXPECT_THROW(named_.of("plain.bias"), InternalError);
  EXPECT_THROW(named_.spec_of("plain.bias"), InternalError);
}

TEST_F(NamedParametersTest, AParameterThatMayBeThereIsNoneWhereItIsNot) {
  EXPECT_EQ(named_.find("biased.bias").value().value.shape, Shape({3}));
  EXPECT_FALSE(named_.find("plain.bias").has_value());
}

TEST_F(NamedParametersTest, ALinearMapHasABiasWhereTheTableHasOne) {
  EXPECT_TRUE(named_.linear("biased").bias.has_value());
  EXPECT_FALSE(named_.linear("plain").bias.has_value());
}

}  // namespace
}  // namespace lockstep
