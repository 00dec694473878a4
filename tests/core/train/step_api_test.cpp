// Both step APIs: the same step bit for bit, and every wrong order of calls told.
#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "tests/core/train/train_ranks.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep {
namespace {

using test::digest_of;
using test::train_ranks;

Case two_by_three() {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.reduction_order = ReductionOrder::kRank;
  return c;
}

std::vector<Case> ways_to_run_one_case(const Case& base) {
  std::vector<Case> cases;
  for (const StepApi api : {StepApi::kFused, StepApi::kSplit}) {
    for (const std::vector<std::string>& overlap :
         {std::vector<std::string>{}, std::vector<std::string>{"grad"}}) {
      for (const std::int64_t bucket_elements : {0, 1, 1000, 100000}) {
        Case c = base;
        c.recipe.step_api = api;
        c.recipe.overlap = overlap;
        c.recipe.bucket_elements = bucket_elements;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

void expect_equal_digests(const Case& base) {
  const std::string expected = digest_of(train_ranks(base));
  for (const Case& c : ways_to_run_one_case(base)) {
    EXPECT_EQ(digest_of(train_ranks(c)), expected)
        << (c.recipe.step_api == StepApi::kSplit ? "split" : "fused") << ", overlap "
        << c.recipe.overlap.size() << ", bucket_elements " << c.recipe.bucket_elements;
  }
}

TEST(StepApi, OverlapAndBucketSizesDoNotChangeABit) { expect_equal_digests(two_by_three()); }

TEST(StepApi, OverlapAndBucketSizesDoNotChangeABitOfATiedModelUnderSequenceParallelism) {
  Case c = two_by_three();
  c.layout.sp = true;
  c.model.tied = true;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  expect_equal_digests(c);
}

TEST(StepApi, OverlapAndBucketSizesDoNotChangeABitOfBf16) {
  Case c = two_by_three();
  c.recipe.dtype = Precision::kBF16;
  expect_equal_digests(c);
}

TEST(StepApi, AnOverlappedSumMayCompleteAtItsWait) {
  Case c = two_by_three();
  const std::string expected = digest_of(train_ranks(c));
  c.recipe.overlap = {"grad"};
  c.recipe.bucket_elements = 1000;
  for (const Completion completion : {Completion::kLate, Completion::kSeeded}) {
    c.recipe.completion = completion;
    EXPECT_EQ(digest_of(train_ranks(c)), expected);
  }
}

// What a rank alone says when it drives its trainer so; empty for nothing.
std::string failure(const std::function<void(Trainer&, std::int64_t)>& drive) {
  const Case c = preset_case("tiny-linear");
  return test::to_text(test::on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    Trainer trainer(context, c, plans);
    drive(trainer, plans.batch.num_micro_batches);
  }));
}

bool says(const std::string& text, std::string_view sentence) {
  return text.find(sentence) != std::string::npos;
}

TEST(StepApi, TheRightOrderSaysNothing) {
  EXPECT_EQ(failure([](Trainer& trainer, std::int64_t num_micro_batches) {
              for (std::int64_t step = 0; step < 2; ++step) {
                trainer.begin_step(step);
                for (std::int64_t m = 0; m < num_micro_batches; ++m) trainer.run_micro_batch();
                EXPECT_EQ(trainer.finish_step().losses.size(), 12U);
              }
              trainer.run_probes();
            }),
            "");
}

TEST(StepApi, FinishingTwiceIsAnError) {
  const std::string text = failure([](Trainer& trainer, std::int64_t) {
    trainer.run_step(0);
    trainer.finish_step();
  });
  EXPECT_TRUE(says(text, "a step is finished, but none has begun since the last finish")) << text;
}

TEST(StepApi, FinishingWithMicroBatchesMissingIsAnError) {
  const std::string text = failure([](Trainer& trainer, std::int64_t) {
    trainer.begin_step(4);
    trainer.run_micro_batch();
    trainer.finish_step();
  });
  EXPECT_TRUE(says(text, "step 4 is finished after 1 of its 12 micro-batches")) << text;
}

TEST(StepApi, AMicroBatchOutsideAStepIsAnError) {
  const std::string text =
      failure([](Trainer& trainer, std::int64_t) { trainer.run_micro_batch(); });
  EXPECT_TRUE(says(text, "a micro-batch runs, but no step has begun")) << text;
}

TEST(StepApi, AMicroBatchTooManyIsAnError) {
  const std::string text = failure([](Trainer& trainer, std::int64_t num_micro_batches) {
    trainer.begin_step(0);
    for (std::int64_t m = 0; m <= num_micro_batches; ++m) trainer.run_micro_batch();
  });
  EXPECT_TRUE(says(text, "step 0 has all of its 12 micro-batches")) << text;
}

TEST(StepApi, BeginningAStepWithinAStepIsAnError) {
  const std::string text = failure([](Trainer& trainer, std::int64_t) {
    trainer.begin_step(0);
    trainer.begin_step(1);
  });
  EXPECT_TRUE(says(text, "step 1 begins, but step 0 is not finished")) << text;
}

TEST(StepApi, ProbesWithinAStepAreAnError) {
  const std::string text = failure([](Trainer& trainer, std::int64_t) {
    trainer.begin_step(0);
    trainer.run_probes();
  });
  EXPECT_TRUE(says(text, "probes would overwrite the gradients of a step under way")) << text;
}

}  // namespace
}  // namespace lockstep
