// A sink that keeps what it is given: gradients summed by parameter, and the order of finishing.
#pragma once

#include <map>
#include <vector>

#include "core/autograd/gradient_sink.h"
#include "core/ops/elementwise.h"

namespace lockstep::test {

class RecordingSink : public GradientSink {
 public:
  explicit RecordingSink(const OpContext& ops) : ops_(ops) {}

  void accumulate(ParameterId parameter, const Tensor& gradient) override {
    ++uses[parameter.value];
    Tensor& sum = gradients[parameter.value];
    sum = sum ? add(ops_, sum, gradient) : gradient;
  }
  void finished(ParameterId parameter) override { order.push_back(parameter.value); }

  std::map<int, Tensor> gradients;
  std::map<int, int> uses;
  std::vector<int> order;

 private:
  OpContext ops_;
};

}  // namespace lockstep::test
