// The tape: a forward pass recorded as nodes, and the backward passes that run over it.
//
// A node keeps no inputs or outputs, only what it saved: an output's memory may be gone when its
// gradient arrives. Input gradients and weight gradients are two calls, so that a pipeline can put
// the second into its bubbles. Recompute is a node whose backward runs a tape of its own.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/autograd/gradient_sink.h"
#include "core/ops/context.h"

namespace lockstep {

// A value on a tape. A constant has no id: no gradient flows into it.
struct Variable {
  Tensor value;
  int id = -1;

  bool is_constant() const { return id < 0; }
};

// A trainable tensor as ops see it.
struct Parameter {
  ParameterId id;
  Tensor value;
};

// What a backward function is given. It is called where at least one output has a gradient; the
// others' are empty tensors.
struct BackwardCall {
  const OpContext& ops;
  std::span<const Tensor> saved;
  std::span<const Tensor> output_gradients;
};

struct TapeNode {
  std::string_view label;
  std::vector<Variable> inputs = {};  // only their ids are kept
  std::vector<Tensor> outputs = {};   // only their number is kept
  std::vector<ParameterId> parameters = {};
  std::vector<Tensor> saved = {};
  // Gradients of the inputs, in order; null where no input has one.
  std::function<std::vector<Tensor>(const BackwardCall&)> backward_input = {};
  // Gradients of the parameters, into the sink; null where there are none.
  std::function<void(const BackwardCall&, GradientSink&)> backward_weight = {};
};

enum class BackwardMode {
  kBoth,       // weight gradients at once
  kInputOnly,  // weight gradients kept for backward_weights()
};

class Tape {
 public:
  explicit Tape(const OpContext& ops) : ops_(ops) {}

  const OpContext& ops() const { return ops_; }

  // A value from outside whose gradient will be asked for, as a stage's received activation.
  Variable input(const Tensor& value);
  // Returns the node's outputs as variables.
  std::vector<Variable> record(TapeNode node);

  // Gradients of `inputs`, made by input() (empty where none reached one), given those of
  // `outputs`. Parameters' gradients go to the sink. Nodes run once: a second backward over the
  // same node is an error.
  std::vector<Tensor> backward(std::span<const Variable> outputs,
                               std::span<const Tensor> gradients,
                               std::span<const Variable> inputs,
                               GradientSink& sink,
                               BackwardMode mode = BackwardMode::kBoth);
  // The weight gradients that kInputOnly left, latest node first.
  void backward_weights(GradientSink& sink);

 private:
  struct Entry {
    TapeNode node;             // without inputs and outputs
    std::vector<int> inputs;   // ids of variables
    std::vector<int> outputs;  // the same
    bool done = false;
  };
  struct PendingWeight {
    std::size_t entry;
    std::vector<Tensor> output_gradients;
  };

  void add_gradient(int id, const Tensor& gradient);
  Tensor take_gradient(int id);
  // Empty where no gradient reached any output.
  std::vector<Tensor> take_output_gradients(const Entry& entry);
  void run_input(const Entry& entry, std::span<const Tensor> output_gradients);
  void run_weight(Entry& entry, std::span<const Tensor> output_gradients, GradientSink& sink);
  int& uses_left(ParameterId parameter);

  OpContext ops_;
  std::vector<Entry> entries_;
  std::vector<Tensor> gradients_;  // by variable id, empty outside backward
  std::vector<int> uses_left_;     // by parameter id: recorded uses whose weight gradient is due
  std::vector<PendingWeight> pending_;
};

}  // namespace lockstep
