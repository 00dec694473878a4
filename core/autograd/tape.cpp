// Tape: recording, and walking the nodes backwards.
#include "core/autograd/tape.h"

#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

namespace lockstep {

Variable Tape::input(const Tensor& value) {
  gradients_.emplace_back();
  return {.value = value, .id = static_cast<int>(gradients_.size()) - 1};
}

std::vector<Variable> Tape::record(TapeNode node) {
  Entry entry;
  for (const Variable& variable : node.inputs) entry.inputs.push_back(variable.id);
  std::vector<Variable> outputs;
  for (const Tensor& value : node.outputs) {
    outputs.push_back(input(value));
    entry.outputs.push_back(outputs.back().id);
  }
  for (const ParameterId parameter : node.parameters) ++uses_left(parameter);
  node.inputs.clear();
  node.outputs.clear();
  entry.node = std::move(node);
  entries_.push_back(std::move(entry));
  return outputs;
}

int& Tape::uses_left(ParameterId parameter) {
  const auto index = static_cast<std::size_t>(parameter.value);
  if (index >= uses_left_.size()) uses_left_.resize(index + 1, 0);
  return uses_left_[index];
}

void Tape::add_gradient(int id, const Tensor& gradient) {
  if (id < 0 || !gradient) return;
  Tensor& sum = gradients_[static_cast<std::size_t>(id)];
  // A new tensor for the sum: the first gradient may be somebody else's memory.
  sum = sum ? add(ops_, sum, gradient) : gradient;
}

void Tape::run_weight(Entry& entry, std::span<const Tensor> output_gradients, GradientSink& sink) {
  if (entry.node.backward_weight && !output_gradients.empty()) {
    entry.node.backward_weight(
        {.ops = ops_, .saved = entry.node.saved, .output_gradients = output_gradients}, sink);
  }
  for (const ParameterId parameter : entry.node.parameters) {
    if (--uses_left(parameter) == 0) sink.finished(parameter);
  }
  entry.node.saved.clear();
}

std::vector<Tensor> Tape::take_output_gradients(const Entry& entry) {
  std::vector<Tensor> taken;
  bool reached = false;
  for (const int id : entry.outputs) {
    taken.push_back(take_gradient(id));
    reached = reached || static_cast<bool>(taken.back());
  }
  if (!reached) taken.clear();
  return taken;
}

Tensor Tape::take_gradient(int id) {
  return std::exchange(gradients_[static_cast<std::size_t>(id)], Tensor{});
}

void Tape::run_input(const Entry& entry, std::span<const Tensor> output_gradients) {
  if (!entry.node.backward_input || output_gradients.empty()) return;
  const std::vector<Tensor> input_gradients = entry.node.backward_input(
      {.ops = ops_, .saved = entry.node.saved, .output_gradients = output_gradients});
  LOCKSTEP_CHECK(input_gradients.size() == entry.inputs.size(),
                 std::string(entry.node.label) + " gave a wrong number of input gradients");
  for (std::size_t i = 0; i < entry.inputs.size(); ++i) {
    add_gradient(entry.inputs[i], input_gradients[i]);
  }
}

std::vector<Tensor> Tape::backward(std::span<const Variable> outputs,
                                   std::span<const Tensor> gradients,
                                   std::span<const Variable> inputs,
                                   GradientSink& sink,
                                   BackwardMode mode) {
  LOCKSTEP_CHECK(outputs.size() == gradients.size(), "one gradient for each output");
  for (std::size_t i = 0; i < outputs.size(); ++i) add_gradient(outputs[i].id, gradients[i]);
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.done) continue;
    entry.done = true;
    std::vector<Tensor> output_gradients = take_output_gradients(entry);
    run_input(entry, output_gradients);
    if (mode == BackwardMode::kBoth) {
      run_weight(entry, output_gradients, sink);
    } else if (!entry.node.parameters.empty()) {
      pending_.push_back({.entry = i, .output_gradients = std::move(output_gradients)});
    } else {
      entry.node.saved.clear();
    }
  }
  std::vector<Tensor> input_gradients;
  for (const Variable& variable : inputs) {
    LOCKSTEP_CHECK(!variable.is_constant(), "a constant has no gradient");
    input_gradients.push_back(take_gradient(variable.id));
  }
  for (const Variable& output : outputs) {
    LOCKSTEP_CHECK(output.is_constant() || !gradients_[static_cast<std::size_t>(output.id)],
                   "backward over a node that has already run");
  }
  return input_gradients;
}

void Tape::backward_weights(GradientSink& sink) {
  for (PendingWeight& pending : pending_) {
    run_weight(entries_[pending.entry], pending.output_gradients, sink);
  }
  pending_.clear();
}

}  // namespace lockstep
