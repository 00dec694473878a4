// Which GPU each rank gets, and which layouts are refused.
#include "matrix/crew/gpu_plan.h"

#include <gtest/gtest.h>

#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "core/config/presets.h"
#include "matrix/crew/nccl_work.h"

namespace lockstep::matrix {
namespace {

using Ids = std::vector<std::string>;
using Ordinals = std::vector<int>;

const Ids kFour = {"a", "b", "c", "d"};

TEST(GpuPlan, SpreadsTheRanksOfOneProcessOverItsGpusInTurn) {
  EXPECT_EQ(plan_gpus(4, {kFour}), (GpuPlan{.ordinals = {0, 1, 2, 3}, .most_ranks_on_one = 1}));
  EXPECT_EQ(plan_gpus(6, {kFour}),
            (GpuPlan{.ordinals = {0, 1, 2, 3, 0, 1}, .most_ranks_on_one = 2}));
  EXPECT_EQ(plan_gpus(3, {{"a"}}), (GpuPlan{.ordinals = {0, 0, 0}, .most_ranks_on_one = 3}));
}

TEST(GpuPlan, SpreadsRanksOfProcessesThatSeeTheSameGpusOverAllOfThem) {
  EXPECT_EQ(plan_gpus(4, {kFour, kFour}),
            (GpuPlan{.ordinals = {0, 1, 2, 3}, .most_ranks_on_one = 1}));
  // Ranks 0, 3 and 6 are in process 0; one visible GPU of four is shared by all.
  EXPECT_EQ(plan_gpus(7, {kFour, kFour, kFour}).most_ranks_on_one, 2);
  EXPECT_EQ(plan_gpus(4, {{"a"}, {"a"}}),
            (GpuPlan{.ordinals = {0, 0, 0, 0}, .most_ranks_on_one = 4}));
}

TEST(GpuPlan, KnowsAGpuByItsIdInWhateverOrderAProcessSeesIt) {
  EXPECT_EQ(plan_gpus(2, {{"a", "b"}, {"a", "b"}}).ordinals, (Ordinals{0, 1}));
  EXPECT_EQ(plan_gpus(2, {{"a", "b"}, {"b", "a"}}).ordinals, (Ordinals{0, 0}));
}

TEST(GpuPlan, GivesProcessesWithGpusOfTheirOwnTheseAlone) {
  EXPECT_EQ(plan_gpus(4, {{"a"}, {"b"}, {"c"}, {"d"}}),
            (GpuPlan{.ordinals = {0, 0, 0, 0}, .most_ranks_on_one = 1}));
  EXPECT_EQ(plan_gpus(8, {{"a", "b"}, {"c", "d"}}),
            (GpuPlan{.ordinals = {0, 0, 1, 1, 0, 0, 1, 1}, .most_ranks_on_one = 2}));
}

TEST(GpuPlan, GivesARankTheSameGpuHoweverManyComeAfterIt) {
  const std::vector<Ids> processes = {kFour, {"c", "d"}, {"e"}};
  const Ordinals all = plan_gpus(24, processes).ordinals;
  for (int world = 1; world < 24; ++world) {
    const Ordinals some = plan_gpus(world, processes).ordinals;
    EXPECT_EQ(some, Ordinals(all.begin(), all.begin() + world)) << world;
  }
}

TEST(GpuPlan, RefusesARankWhoseProcessSeesNoGpu) {
  EXPECT_THROW(plan_gpus(2, {{"a"}, {}}), UsageError);
  EXPECT_EQ(plan_gpus(1, {{"a"}, {}}).ordinals, (Ordinals{0}));
}

TEST(GpuPlan, ThatPutsTooManyRanksOnAGpuIsRefusedWithTheNumber) {
  const GpuPlan plan = plan_gpus(backends::kMaxRanksPerGpu + 1, {{"a"}});
  EXPECT_EQ(why_too_crowded(plan),
            std::to_string(backends::kMaxRanksPerGpu + 1) +
                " ranks would share a GPU, of which at most " +
                std::to_string(backends::kMaxRanksPerGpu) + " can");
}

TEST(GpuPlan, ComesBackFromItsText) {
  const GpuPlan plan = plan_gpus(6, {kFour});
  EXPECT_EQ(to_text(plan), "2 0 1 2 3 0 1");
  EXPECT_EQ(gpu_plan_from_text(to_text(plan)), plan);
  for (const char* text : {"", "1", "1 ", "1 x", "1 -1", "1  0", " 1 0", "1 0 "}) {
    EXPECT_THROW(gpu_plan_from_text(text), UsageError) << "'" << text << "'";
  }
}

TEST(NcclRequest, ComesBackFromItsText) {
  const NcclRequest request{.gpus = plan_gpus(2, {{"a"}}), .c = preset_case("tiny-linear")};
  const NcclRequest back = nccl_request_from_text(to_text(request));
  EXPECT_EQ(back.gpus, request.gpus);
  EXPECT_EQ(to_text(back), to_text(request));
  EXPECT_THROW(nccl_request_from_text("2 0 0"), UsageError);
}

}  // namespace
}  // namespace lockstep::matrix
