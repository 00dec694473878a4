// Recording ops with parameters: linear maps, biases and norms.
#include "core/autograd/functions.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"

namespace lockstep {
namespace {

LinearSaved linear_saved(std::span<const Tensor> saved) {
  return {.x = saved[0], .weight = saved[1]};
}

RmsNormSaved rms_norm_saved(std::span<const Tensor> saved) {
  return {.x = saved[0], .g = saved[1], .inverse_rms_T = saved[2]};
}

LayerNormSaved layer_norm_saved(std::span<const Tensor> saved) {
  return {.x = saved[0], .g = saved[1], .mean_T = saved[2], .inverse_std_T = saved[3]};
}

}  // namespace

Variable linear(Tape& tape, const Variable& x, const Parameter& weight) {
  const ParameterId id = weight.id;
  return tape.record({.label = "linear",
                      .inputs = {x},
                      .outputs = {linear(tape.ops(), x.value, weight.value)},
                      .parameters = {id},
                      .saved = {x.value, weight.value},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {linear_backward_input(
                            call.ops, linear_saved(call.saved), call.output_gradients[0])};
                      },
                      .backward_weight =
                          [id](const BackwardCall& call, GradientSink& sink) {
                            sink.accumulate(
                                id,
                                linear_backward_weight(
                                    call.ops, linear_saved(call.saved), call.output_gradients[0]));
                          }})[0];
}

Variable add_bias(Tape& tape, const Variable& x, const Parameter& bias) {
  const ParameterId id = bias.id;
  return tape.record({.label = "add_bias",
                      .inputs = {x},
                      .outputs = {add_bias(tape.ops(), x.value, bias.value)},
                      .parameters = {id},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {call.output_gradients[0]};
                      },
                      .backward_weight =
                          [id](const BackwardCall& call, GradientSink& sink) {
                            sink.accumulate(
                                id, add_bias_backward_bias(call.ops, call.output_gradients[0]));
                          }})[0];
}

Variable rms_norm(Tape& tape, const Variable& x, const Parameter& g, double eps) {
  const ParameterId id = g.id;
  const RmsNormResult result = rms_norm(tape.ops(), x.value, g.value, eps);
  return tape.record({.label = "rms_norm",
                      .inputs = {x},
                      .outputs = {result.y},
                      .parameters = {id},
                      .saved = {x.value, g.value, result.inverse_rms_T},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {rms_norm_backward_input(
                            call.ops, rms_norm_saved(call.saved), call.output_gradients[0])};
                      },
                      .backward_weight =
                          [id](const BackwardCall& call, GradientSink& sink) {
                            sink.accumulate(id,
                                            rms_norm_backward_weight(call.ops,
                                                                     rms_norm_saved(call.saved),
                                                                     call.output_gradients[0]));
                          }})[0];
}

// db is that of a bias: the column sums of dy.
Variable layer_norm(Tape& tape,
                    const Variable& x,
                    const LayerNormParameters& parameters,
                    double eps) {
  const ParameterId g = parameters.g.id;
  const ParameterId b = parameters.b.id;
  const LayerNormResult result =
      layer_norm(tape.ops(), x.value, {.g = parameters.g.value, .b = parameters.b.value}, eps);
  return tape.record(
      {.label = "layer_norm",
       .inputs = {x},
       .outputs = {result.y},
       .parameters = {g, b},
       .saved = {x.value, parameters.g.value, result.mean_T, result.inverse_std_T},
       .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
         return {layer_norm_backward_input(
             call.ops, layer_norm_saved(call.saved), call.output_gradients[0])};
       },
       .backward_weight =
           [g, b](const BackwardCall& call, GradientSink& sink) {
             const Tensor& dy = call.output_gradients[0];
             sink.accumulate(
                 g, layer_norm_backward_weight(call.ops, layer_norm_saved(call.saved), dy));
             sink.accumulate(b, add_bias_backward_bias(call.ops, dy));
           }})[0];
}

}  // namespace lockstep
