// The captured variables.
#include "tests/matrix/launch/samples.h"

namespace lockstep::test {

using matrix::Environment;

Environment mpirun_sample() {
  return {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_COMM_WORLD_NODE_RANK", "1"},
          {"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_MCA_ess_base_jobid", "1937440769"},
          {"OMPI_MCA_ess_base_vpid", "1"},
          {"OMPI_MCA_orte_hnp_uri", "1937440768.0;tcp://192.0.2.2:53151;tcp6://[fd00::2]:39861"},
          {"OMPI_MCA_orte_local_daemon_uri",
           "1937440768.0;tcp://192.0.2.2:53151;tcp6://[fd00::2]:39861"},
          {"OMPI_MCA_orte_num_nodes", "1"},
          {"OMPI_UNIVERSE_SIZE", "2"},
          {"PMIX_NAMESPACE", "1937440769"},
          {"PMIX_RANK", "1"},
          {"PMIX_SERVER_URI2", "1937440768.0;tcp4://127.0.0.1:55429"}};
}

Environment mpirun_on_two_hosts_sample() {
  return with(mpirun_sample(),
              {{"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
               {"OMPI_COMM_WORLD_NODE_RANK", "0"},
               {"OMPI_COMM_WORLD_RANK", "2"},
               {"OMPI_COMM_WORLD_SIZE", "4"},
               {"OMPI_MCA_orte_local_daemon_uri", "1937440768.1;tcp://192.0.2.3:40123"},
               {"OMPI_MCA_orte_num_nodes", "2"},
               {"PMIX_RANK", "2"}});
}

Environment salloc_sample() {
  return {{"SLURM_JOB_ID", "4"},
          {"SLURM_JOB_NODELIST", "node01"},
          {"SLURM_JOB_NUM_NODES", "1"},
          {"SLURM_NNODES", "1"},
          {"SLURM_NODELIST", "node01"},
          {"SLURM_NPROCS", "4"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_TASKS_PER_NODE", "4"}};
}

Environment sbatch_sample() {
  return with(
      salloc_sample(),
      {{"SLURM_GTIDS", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}, {"SLURM_PROCID", "0"}});
}

Environment salloc_interactive_step_sample() {
  return with(sbatch_sample(),
              {{"SLURM_STEPID", "4294967290"},
               {"SLURM_STEP_ID", "4294967290"},
               {"SLURM_STEP_NODELIST", "node01"},
               {"SLURM_STEP_NUM_NODES", "1"},
               {"SLURM_STEP_NUM_TASKS", "1"},
               {"SLURM_STEP_TASKS_PER_NODE", "1"}});
}

Environment srun_sample() {
  return with(salloc_sample(),
              {{"SLURM_GTIDS", "0,1"},
               {"SLURM_LOCALID", "1"},
               {"SLURM_NODEID", "0"},
               {"SLURM_NPROCS", "2"},
               {"SLURM_NTASKS", "2"},
               {"SLURM_PROCID", "1"},
               {"SLURM_STEPID", "0"},
               {"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NODELIST", "node01"},
               {"SLURM_STEP_NUM_NODES", "1"},
               {"SLURM_STEP_NUM_TASKS", "2"},
               {"SLURM_STEP_TASKS_PER_NODE", "2"}});
}

Environment torchrun_sample() {
  return {{"GROUP_RANK", "0"},
          {"GROUP_WORLD_SIZE", "1"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "localhost"},
          {"MASTER_PORT", "38935"},
          {"RANK", "1"},
          {"ROLE_NAME", "default"},
          {"ROLE_RANK", "1"},
          {"ROLE_WORLD_SIZE", "2"},
          {"TORCHELASTIC_MAX_RESTARTS", "0"},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"WORLD_SIZE", "2"}};
}

Environment by_hand_sample() {
  return {{"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "192.0.2.7"},
          {"MASTER_PORT", "29500"},
          {"RANK", "3"},
          {"WORLD_SIZE", "4"}};
}

Environment with(Environment environment, const Environment& changes) {
  for (const auto& [name, value] : changes) environment.insert_or_assign(name, value);
  return environment;
}

Environment with(Environment environment, const char* name, const char* value) {
  environment.insert_or_assign(name, value);
  return environment;
}

Environment without(Environment environment, const char* name) {
  environment.erase(name);
  return environment;
}

}  // namespace lockstep::test
