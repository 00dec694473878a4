// What NCCL does itself, and what is built because it lacks it.
#include <gtest/gtest.h>

#include "backends/nccl/transport.h"

namespace lockstep::test {
namespace {

SupportKind kind_of(const CallType& type) { return backends::nccl_support(type).kind; }

TEST(NcclCapabilities, SumsAreItsOwnInEveryDtype) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI64}) {
    EXPECT_EQ(kind_of({.kind = CollectiveKind::kAllReduce, .dtype = dtype}), SupportKind::kNative);
    EXPECT_EQ(kind_of({.kind = CollectiveKind::kReduceScatter, .dtype = dtype}),
              SupportKind::kNative);
  }
}

TEST(NcclCapabilities, AMaximumOfRealsIsBuiltForItsOwnForgetsNaN) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}) {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
      const Support support =
          backends::nccl_support({.kind = kind, .dtype = dtype, .op = ReduceOp::kMax});
      EXPECT_EQ(support.kind, SupportKind::kBuilt);
      EXPECT_NE(support.how.find("keeps NaN"), std::string_view::npos) << support.how;
    }
    EXPECT_EQ(kind_of({.kind = kind, .dtype = DType::kI64, .op = ReduceOp::kMax}),
              SupportKind::kNative);
  }
}

TEST(NcclCapabilities, NothingIsMissingAndWhatIsBuiltSaysFromWhat) {
  for (const CollectiveKind kind : {CollectiveKind::kAllGather,
                                    CollectiveKind::kBroadcast,
                                    CollectiveKind::kSend,
                                    CollectiveKind::kRecv}) {
    EXPECT_EQ(kind_of({.kind = kind}), SupportKind::kNative) << name_of(kind);
  }
  for (const CollectiveKind kind : {CollectiveKind::kAllToAll, CollectiveKind::kBarrier}) {
    const Support support = backends::nccl_support({.kind = kind});
    EXPECT_EQ(support.kind, SupportKind::kBuilt) << name_of(kind);
    EXPECT_NE(support.how.find("NCCL's"), std::string_view::npos) << support.how;
  }
}

}  // namespace
}  // namespace lockstep::test
