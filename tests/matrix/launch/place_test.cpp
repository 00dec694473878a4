// The place that each launcher gives, and which of two launchers counts.
#include "matrix/launch/place.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/matrix/launch/samples.h"

namespace lockstep::test {
namespace {

using matrix::Environment;
using matrix::Place;
using matrix::plan_place;

Place place_of(const Environment& environment) {
  const std::optional<Place> place = plan_place(environment);
  EXPECT_TRUE(place.has_value());
  return place.value_or(Place{});
}

TEST(Place, IsNoneWithoutALauncher) {
  EXPECT_FALSE(plan_place({{"HOME", "/root"}, {"MASTER_ADDR", "192.0.2.7"}}).has_value());
}

TEST(Place, IsReadFromWhatIsSetByHand) {
  EXPECT_EQ(place_of(by_hand_sample()),
            (Place{.rank = 3,
                   .num_processes = 4,
                   .local_rank = 1,
                   .host = "192.0.2.7",
                   .port = 29500,
                   .launcher = "torchrun"}));
}

TEST(Place, UnderTorchrunIsBesideThePortThatTorchrunListensOn) {
  EXPECT_EQ(place_of(torchrun_sample()),
            (Place{.rank = 1,
                   .num_processes = 2,
                   .local_rank = 1,
                   .host = "localhost",
                   .port = 38936,
                   .launcher = "torchrun"}));
}

TEST(Place, UnderTorchrunIsBelowTheLastPort) {
  EXPECT_EQ(place_of(with(torchrun_sample(), "MASTER_PORT", "65535")).port, 65534);
}

TEST(Place, UnderTorchrunIsAtThePortItselfWhereTorchrunDoesNotListen) {
  const Environment environment = with(torchrun_sample(), "TORCHELASTIC_USE_AGENT_STORE", "False");
  EXPECT_EQ(place_of(environment).port, 38935);
}

TEST(Place, WithoutALocalRankIsThatOfOneHost) {
  EXPECT_EQ(place_of(without(by_hand_sample(), "LOCAL_RANK")).local_rank, 3);
}

TEST(Place, UnderMpirunOnOneHostListensOnTheLoopback) {
  const Place place = place_of(mpirun_sample());
  EXPECT_EQ(place.launcher, "mpirun");
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.num_processes, 2);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.host, "127.0.0.1");
}

TEST(Place, UnderMpirunOnTwoHostsIsFoundAtMpirunsOwn) {
  const Place place = place_of(mpirun_on_two_hosts_sample());
  EXPECT_EQ(place.rank, 2);
  EXPECT_EQ(place.local_rank, 0);
  EXPECT_EQ(place.host, "192.0.2.2");
}

TEST(Place, UnderMpirunIsAtTheFirstOfSeveralAddresses) {
  const Environment environment = with(mpirun_on_two_hosts_sample(),
                                       "OMPI_MCA_orte_hnp_uri",
                                       "1937440768.0;tcp://192.0.2.2,198.51.100.2:53151");
  EXPECT_EQ(place_of(environment).host, "192.0.2.2");
}

TEST(Place, UnderSrunOnOneHostListensOnTheLoopback) {
  const Place place = place_of(srun_sample());
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.num_processes, 2);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.host, "127.0.0.1");
}

TEST(Place, UnderSrunOnSeveralHostsIsFoundAtTheFirstOfTheStep) {
  const Environment environment = with(srun_sample(),
                                       {{"SLURM_NODEID", "1"},
                                        {"SLURM_STEP_NODELIST", "node[03-04]"},
                                        {"SLURM_STEP_NUM_NODES", "2"}});
  EXPECT_EQ(place_of(environment).host, "node03");
}

TEST(Place, IsNoneInABatchScriptAndInAShellOfAnAllocation) {
  EXPECT_FALSE(plan_place(sbatch_sample()).has_value());
  EXPECT_FALSE(plan_place(salloc_sample()).has_value());
  EXPECT_FALSE(plan_place(salloc_interactive_step_sample()).has_value());
}

TEST(Place, HasTheSamePortOnAllRanksOfAJobAndAnotherInTheNextJob) {
  const int port = place_of(mpirun_sample()).port;
  EXPECT_EQ(place_of(with(mpirun_sample(), "OMPI_COMM_WORLD_RANK", "0")).port, port);
  EXPECT_NE(place_of(with(mpirun_sample(), "PMIX_NAMESPACE", "1937440770")).port, port);
  const int step_port = place_of(srun_sample()).port;
  EXPECT_EQ(place_of(with(srun_sample(), "SLURM_PROCID", "0")).port, step_port);
  EXPECT_NE(place_of(with(srun_sample(), "SLURM_STEP_ID", "1")).port, step_port);
  EXPECT_NE(place_of(with(srun_sample(), "SLURM_JOB_ID", "5")).port, step_port);
  EXPECT_NE(place_of(with(srun_sample(), {{"SLURM_JOB_ID", "1"}, {"SLURM_STEP_ID", "12"}})).port,
            place_of(with(srun_sample(), {{"SLURM_JOB_ID", "11"}, {"SLURM_STEP_ID", "2"}})).port);
}

TEST(Place, HasAPortBelowThoseOfOutgoingConnections) {
  for (int job = 1; job <= 1000; ++job) {
    const std::string id = std::to_string(job);
    const int port = place_of(with(srun_sample(), "SLURM_JOB_ID", id.c_str())).port;
    EXPECT_GE(port, 16384);
    EXPECT_LT(port, 32768);
  }
}

TEST(Place, IsWhereMasterAddrAndMasterPortSay) {
  for (const Environment& sample : {mpirun_on_two_hosts_sample(), mpirun_sample(), srun_sample()}) {
    const Environment environment =
        with(sample, {{"MASTER_ADDR", "192.0.2.9"}, {"MASTER_PORT", "4000"}});
    EXPECT_EQ(place_of(environment).host, "192.0.2.9");
    EXPECT_EQ(place_of(environment).port, 4000);
  }
}

TEST(Place, TakesMasterAddrAndMasterPortEachForItself) {
  EXPECT_EQ(place_of(with(srun_sample(), "MASTER_PORT", "4000")).host, "127.0.0.1");
  EXPECT_EQ(place_of(with(srun_sample(), "MASTER_ADDR", "192.0.2.9")).port,
            place_of(srun_sample()).port);
}

TEST(Place, IsThatOfMpirunInsideAJobOfSlurm) {
  EXPECT_EQ(place_of(with(mpirun_sample(), srun_sample())).launcher, "mpirun");
}

TEST(Place, IsThatOfTorchrunInsideAStepOfSlurmOrUnderMpirun) {
  EXPECT_EQ(place_of(with(torchrun_sample(), srun_sample())).launcher, "torchrun");
  EXPECT_EQ(place_of(with(torchrun_sample(), mpirun_sample())).launcher, "torchrun");
}

TEST(Place, TakesAnEmptyVariableForAnAbsentOne) {
  const Environment environment = with(mpirun_sample(), {{"RANK", ""}, {"MASTER_PORT", ""}});
  EXPECT_EQ(place_of(environment), place_of(mpirun_sample()));
  EXPECT_FALSE(plan_place(with(srun_sample(), "SLURM_STEP_ID", "")).has_value());
}

}  // namespace
}  // namespace lockstep::test
