// What the optimizer keeps of each parameter: masters, moments, and the number of updates so far.
//
// All of it is of the accumulation type. A parameter of that type is its own master.
#pragma once

#include <span>
#include <vector>

#include "core/config/case.h"
#include "core/model/parameters.h"

namespace lockstep {

// What there is to keep.
struct OptimizerStateSpec {
  Optimizer optimizer = Optimizer::kSgd;
  bool masters = false;  // parameters are rounded copies of masters
  bool moments = false;  // of AdamW
};

class OptimizerState {
 public:
  // Masters and moments are zeroed, padding included; init fills in the masters.
  OptimizerState(const OpContext& ops,
                 const OptimizerStateSpec& spec,
                 const Parameters& parameters);

  bool has_masters() const { return has_masters_; }

  // By the table's order. The moments are empty where the optimizer keeps none.
  std::span<const Tensor> parameters() const { return parameters_; }
  std::span<const Tensor> masters() const { return masters_; }  // the parameters, if none
  std::span<const Tensor> exp_avg() const { return exp_avg_; }
  std::span<const Tensor> exp_avg_sq() const { return exp_avg_sq_; }

  std::int64_t num_updates() const { return num_updates_; }
  void count_update() { ++num_updates_; }

 private:
  bool has_masters_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> masters_;
  std::vector<Tensor> exp_avg_;
  std::vector<Tensor> exp_avg_sq_;
  std::int64_t num_updates_ = 0;
};

}  // namespace lockstep
