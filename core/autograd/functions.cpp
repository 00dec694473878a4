// Recording ops: what each saves, and which backward it calls.
#include "core/autograd/functions.h"

#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"

namespace lockstep {
namespace {

LinearSaved linear_saved(std::span<const Tensor> saved) {
  return {.x = saved[0], .weight = saved[1]};
}

RmsNormSaved norm_saved(std::span<const Tensor> saved) {
  return {.x = saved[0], .g = saved[1], .inverse_rms_T = saved[2]};
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
                            call.ops, norm_saved(call.saved), call.output_gradients[0])};
                      },
                      .backward_weight =
                          [id](const BackwardCall& call, GradientSink& sink) {
                            sink.accumulate(
                                id,
                                rms_norm_backward_weight(
                                    call.ops, norm_saved(call.saved), call.output_gradients[0]));
                          }})[0];
}

Variable silu(Tape& tape, const Variable& x) {
  return tape.record(
      {.label = "silu",
       .inputs = {x},
       .outputs = {silu(tape.ops(), x.value)},
       .saved = {x.value},
       .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
         return {silu_backward(call.ops, {.x = call.saved[0]}, call.output_gradients[0])};
       }})[0];
}

Variable add(Tape& tape, const Variable& a, const Variable& b) {
  return tape.record({.label = "add",
                      .inputs = {a, b},
                      .outputs = {add(tape.ops(), a.value, b.value)},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {call.output_gradients[0], call.output_gradients[0]};
                      }})[0];
}

Variable embedding(Tape& tape,
                   const Tensor& ids,
                   const Parameter& weight,
                   const VocabularyShard& shard) {
  const ParameterId id = weight.id;
  const Shape shape = weight.value.shape;
  return tape.record(
      {.label = "embedding",
       .outputs = {embedding(tape.ops(), ids, weight.value, shard)},
       .parameters = {id},
       .saved = {ids},
       .backward_weight = [id, shape, shard](const BackwardCall& call, GradientSink& sink) {
         sink.accumulate(
             id,
             embedding_backward(call.ops,
                                {.ids = call.saved[0], .weight_shape = shape, .shard = shard},
                                call.output_gradients[0]));
       }})[0];
}

// d/dx of sum(w x) with gradient g is g w, in x's shape.
Variable weighted_sum(Tape& tape, const Variable& x, const Tensor& weight) {
  return tape.record({.label = "weighted_sum",
                      .inputs = {x},
                      .outputs = {weighted_sum(tape.ops(), x.value, weight)},
                      .saved = {weight.reshaped(x.value.shape)},
                      .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
                        return {scaled_by(call.ops, call.saved[0], call.output_gradients[0])};
                      }})[0];
}

}  // namespace lockstep
