// A rank's work over NCCL, on a GPU.
#pragma once

#include <string>

#include "core/config/case.h"
#include "matrix/crew/gpu_plan.h"
#include "matrix/crew/seat_work.h"

namespace lockstep::matrix {

// What such a rank is told of a trial, and back. UsageError for anything else.
struct NcclRequest {
  GpuPlan gpus;
  Case c;
};
std::string to_text(const NcclRequest& request);
NcclRequest nccl_request_from_text(std::string_view text);

// `timeout_s` ends work that does not move. All seats of a process must have the same one.
MakeSeatWork nccl_work(double timeout_s, const Program& program = sim::run_rank_program);

}  // namespace lockstep::matrix
