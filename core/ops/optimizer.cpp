// Launches of optimizer updates, the types they take, and the corrections of a step.
#include "core/ops/optimizer.h"

#include <cmath>

#include "core/base/errors.h"

namespace lockstep {
namespace {

void check_update(const Tensor& parameter, std::initializer_list<Tensor> state) {
  const DType main = accumulation_type(parameter.dtype);
  for (const Tensor& tensor : state) {
    LOCKSTEP_CHECK(tensor.num_elements() == parameter.num_elements(),
                   "an update of " + to_text(parameter.shape) + " with " + to_text(tensor.shape));
    LOCKSTEP_CHECK(tensor.dtype == main,
                   "a parameter of type " + std::string(name_of(parameter.dtype)) +
                       " has gradient and state of type " + std::string(name_of(main)) + ", not " +
                       std::string(name_of(tensor.dtype)));
  }
}

}  // namespace

void sgd_update(const OpContext& ops, const SgdUpdate& update, std::string_view label) {
  check_update(update.parameter, {update.gradient, update.master});
  const SgdArgs args{.gradient = update.gradient.buffer(),
                     .master = update.master.buffer(),
                     .parameter = update.parameter.buffer(),
                     .lr = update.lr,
                     .weight_decay = update.weight_decay};
  launch_kernel(ops,
                label,
                {.reads = {args.gradient, args.master},
                 .writes = {args.master, args.parameter},
                 .flops = 4 * args.parameter.count},
                ops.kernels.sgd,
                args);
}

void adamw_update(const OpContext& ops, const AdamwUpdate& update, std::string_view label) {
  check_update(update.parameter,
               {update.gradient, update.master, update.exp_avg, update.exp_avg_sq});
  LOCKSTEP_CHECK(update.step >= 1, "updates count from 1, not " + std::to_string(update.step));
  const auto step = static_cast<double>(update.step);
  const AdamwArgs args{.gradient = update.gradient.buffer(),
                       .master = update.master.buffer(),
                       .exp_avg = update.exp_avg.buffer(),
                       .exp_avg_sq = update.exp_avg_sq.buffer(),
                       .parameter = update.parameter.buffer(),
                       .lr = update.lr,
                       .beta1 = update.beta1,
                       .beta2 = update.beta2,
                       .correction1 = 1.0 - std::pow(update.beta1, step),
                       .correction2 = 1.0 - std::pow(update.beta2, step),
                       .eps = update.eps,
                       .weight_decay = update.weight_decay};
  launch_kernel(ops,
                label,
                {.reads = {args.gradient, args.master, args.exp_avg, args.exp_avg_sq},
                 .writes = {args.exp_avg, args.exp_avg_sq, args.master, args.parameter},
                 .flops = 16 * args.parameter.count},
                ops.kernels.adamw,
                args);
}

}  // namespace lockstep
