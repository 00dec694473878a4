// Core and reference share no code, so that their lists of parameters are held against each other.
#include "matrix/reference/parameters.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "core/model/describe_model.h"

namespace lockstep::test {
namespace {

struct Sizes {
  std::int64_t hidden;
  std::int64_t ffn;
  std::int64_t vocabulary;
  std::int64_t layers;
};

TEST(ReferenceParameters, AreTheCoresByNameShapeAndStartWhateverTheSizesAndLayout) {
  for (const Sizes& sizes : {Sizes{32, 48, 90, 2}, {3, 24, 2, 1}, {65, 96, 129, 11}}) {
    for (const std::int64_t tp : {1, 2, 8}) {
      Case c = preset_case("tiny-linear");
      c.model.hidden_size = sizes.hidden;
      c.model.intermediate_size = sizes.ffn;
      c.model.vocab_size = sizes.vocabulary;
      c.model.num_hidden_layers = sizes.layers;
      c.layout.tp = tp;
      const ParameterTable core = describe_model(c.model, c.layout);
      const std::vector<matrix::ParameterInfo> reference = matrix::list_parameters(c.model);
      ASSERT_EQ(core.size(), reference.size());
      ASSERT_EQ(core.size(), static_cast<std::size_t>(3 + 3 * sizes.layers));
      for (std::size_t i = 0; i < core.size(); ++i) {
        EXPECT_EQ(core[i].name, reference[i].name);
        EXPECT_EQ(core[i].full_shape, reference[i].shape) << core[i].name;
        EXPECT_EQ(core[i].init, reference[i].kind) << core[i].name;
        // A norm weight's start does not depend on its fan-in.
        if (core[i].init == InitKind::kNormWeight) continue;
        EXPECT_EQ(core[i].fan_in, reference[i].fan_in) << core[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
