// Variables that are wrong or contradict each other: each is named, with what would be right.
#include <gtest/gtest.h>

#include <string>

#include "core/base/errors.h"
#include "matrix/launch/place.h"
#include "tests/matrix/launch/samples.h"

namespace lockstep::test {
namespace {

using matrix::Environment;

std::string refusal(const Environment& environment) {
  try {
    matrix::plan_place(environment);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(WrongPlace, ARankWithoutACountAndACountWithoutARank) {
  EXPECT_EQ(refusal(without(by_hand_sample(), "WORLD_SIZE")),
            "RANK is '3' and WORLD_SIZE is not set: set both or neither");
  EXPECT_EQ(refusal(without(by_hand_sample(), "RANK")),
            "WORLD_SIZE is '4' and RANK is not set: set both or neither");
  EXPECT_EQ(refusal(without(mpirun_sample(), "OMPI_COMM_WORLD_SIZE")),
            "OMPI_COMM_WORLD_RANK is '1' and OMPI_COMM_WORLD_SIZE is not set: set both or neither");
}

TEST(WrongPlace, ARankBeyondTheCount) {
  EXPECT_EQ(refusal(with(by_hand_sample(), "RANK", "4")),
            "RANK is '4': expected an integer from 0 to 3");
  EXPECT_EQ(refusal(with(by_hand_sample(), "RANK", "-1")),
            "RANK is '-1': expected an integer from 0 to 3");
  EXPECT_EQ(refusal(with(by_hand_sample(), "LOCAL_RANK", "4")),
            "LOCAL_RANK is '4': expected an integer from 0 to 3");
  EXPECT_EQ(refusal(with(srun_sample(), "SLURM_PROCID", "2")),
            "SLURM_PROCID is '2': expected an integer from 0 to 1");
}

TEST(WrongPlace, TextWhereANumberShouldBe) {
  for (const char* text : {"four", "4x", " 4", "4.0", "+4", "99999999999999999999"}) {
    EXPECT_EQ(refusal(with(by_hand_sample(), "WORLD_SIZE", text)),
              "WORLD_SIZE is '" + std::string(text) + "': expected an integer from 1 to 4096");
  }
}

TEST(WrongPlace, ACountOfNone) {
  EXPECT_EQ(refusal(with(srun_sample(), "SLURM_NTASKS", "0")),
            "SLURM_NTASKS is '0': expected an integer from 1 to 4096");
}

TEST(WrongPlace, APortThatCannotBe) {
  for (const char* port : {"0", "65536", "http"}) {
    for (const Environment& sample : {by_hand_sample(), mpirun_sample(), srun_sample()}) {
      EXPECT_EQ(refusal(with(sample, "MASTER_PORT", port)),
                "MASTER_PORT is '" + std::string(port) + "': expected an integer from 1 to 65535");
    }
  }
}

TEST(WrongPlace, RanksSetByHandWithNoWordWhereRankZeroIs) {
  EXPECT_EQ(refusal(without(by_hand_sample(), "MASTER_ADDR")),
            "MASTER_ADDR is not set: set it to the address of rank 0's host, as RANK is set");
  EXPECT_EQ(
      refusal(without(by_hand_sample(), "MASTER_PORT")),
      "MASTER_PORT is not set: set it to a port that is free on rank 0's host, as RANK is set");
}

TEST(WrongPlace, ARankZeroThatIsNotOnMpirunsHost) {
  const Environment environment = with(mpirun_on_two_hosts_sample(), "OMPI_COMM_WORLD_RANK", "0");
  EXPECT_EQ(refusal(environment),
            "MASTER_ADDR is not set: set it to the address of rank 0's host, as rank 0 is not on "
            "mpirun's host (mpirun -x MASTER_ADDR=...)");
  EXPECT_EQ(refusal(with(environment, "MASTER_ADDR", "192.0.2.3")), "no error");
}

TEST(WrongPlace, SeveralHostsOfAnMpirunThatDoesNotTellItsOwn) {
  const std::string expected =
      "MASTER_ADDR is not set: set it to the address of rank 0's host, as mpirun does not tell it "
      "(mpirun -x MASTER_ADDR=...)";
  EXPECT_EQ(refusal(without(mpirun_on_two_hosts_sample(), "OMPI_MCA_orte_hnp_uri")), expected);
  EXPECT_EQ(refusal(with(mpirun_on_two_hosts_sample(), "OMPI_MCA_orte_hnp_uri", "unix:/x")),
            expected);
}

TEST(WrongPlace, ARankZeroThatIsNotOnTheFirstHostOfTheStep) {
  const Environment environment = with(srun_sample(),
                                       {{"SLURM_STEP_NODELIST", "node[03-04]"},
                                        {"SLURM_STEP_NUM_NODES", "2"},
                                        {"SLURM_PROCID", "0"}});
  EXPECT_EQ(refusal(environment), "no error");
  EXPECT_EQ(refusal(with(environment, "SLURM_NODEID", "1")),
            "MASTER_ADDR is not set: set it to the address of rank 0's host, as rank 0 is not on "
            "the first host of the step");
}

TEST(WrongPlace, ALauncherThatDoesNotTellItsJob) {
  EXPECT_EQ(refusal(without(mpirun_sample(), "PMIX_NAMESPACE")),
            "MASTER_PORT is not set: set it to a port that is free on rank 0's host, as mpirun "
            "does not tell its job");
  EXPECT_EQ(refusal(without(srun_sample(), "SLURM_JOB_ID")),
            "MASTER_PORT is not set: set it to a port that is free on rank 0's host, as "
            "SLURM_JOB_ID is not set");
}

}  // namespace
}  // namespace lockstep::test
