// All that is decided about a trial before it runs: values, to be printed, compared and edited.
#pragma once

#include <string>

#include "core/model/attention_heads.h"
#include "core/model/context_plan.h"
#include "core/model/cross_entropy_plan.h"
#include "core/model/dropout_plan.h"
#include "core/parallel/mappings.h"
#include "core/train/batch.h"
#include "core/train/clip.h"
#include "core/train/counts.h"
#include "core/train/finalize_grads.h"
#include "core/train/init.h"
#include "core/train/loss.h"
#include "core/train/main_gradient_sink.h"
#include "core/train/probes.h"
#include "core/train/update.h"

namespace lockstep {

struct Plans {
  ParameterTable table;
  ActivationTable activations;
  InitPlan init;
  BatchPlan batch;
  MappingTable mappings;
  HeadPlan heads;
  ContextPlan context;
  DropoutPlan dropout;
  CrossEntropyPlan cross_entropy;
  LossPlan loss;
  BucketPlan buckets;
  AccumulationPlan accumulation;
  FinalizePlan finalize;
  CountPlan gradient_norm;
  ClipPlan clip;
  CountPlan gradient_zeros;
  UpdatePlan update;
  CountPlan parameter_norm;
  ProbePlan probes;
};

Plans make_plans(const Case& c);
// Each plan in the order in which a step uses it. Of two setups of one case, equal texts stand for
// equal behaviour.
std::string to_text(const Plans& plans);

}  // namespace lockstep
