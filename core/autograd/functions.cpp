// Recording ops without weights that multiply: elementwise, shapes, embedding and sums.
#include "core/autograd/functions.h"

#include "core/ops/elementwise.h"

namespace lockstep {

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

Variable gated_silu(Tape& tape, const Variable& x) {
  return tape.record(
      {.label = "gated_silu",
       .inputs = {x},
       .outputs = {gated_silu(tape.ops(), x.value)},
       .saved = {x.value},
       .backward_input = [](const BackwardCall& call) -> std::vector<Tensor> {
         return {gated_silu_backward(call.ops, {.x = call.saved[0]}, call.output_gradients[0])};
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

// Each element is multiplied by a constant: its own adjoint.
Variable dropout(Tape& tape, const Variable& x, const DropoutPlace& place, const Dropout& dropout) {
  if (dropout.probability == 0.0) return x;
  return tape.record(
      {.label = "dropout",
       .inputs = {x},
       .outputs = {lockstep::dropout(tape.ops(), x.value, place, dropout)},
       .saved = {place.rows},
       .backward_input = [width = place.width, first = place.first_column, dropout](
                             const BackwardCall& call) -> std::vector<Tensor> {
         return {lockstep::dropout(call.ops,
                                   call.output_gradients[0],
                                   {.rows = call.saved[0], .width = width, .first_column = first},
                                   dropout)};
       }})[0];
}

Variable reshaped(Tape& tape, const Variable& x, const Shape& shape) {
  const Shape before = x.value.shape;
  return tape.record({.label = "reshaped",
                      .inputs = {x},
                      .outputs = {x.value.reshaped(shape)},
                      .backward_input = [before](const BackwardCall& call) -> std::vector<Tensor> {
                        return {call.output_gradients[0].reshaped(before)};
                      }})[0];
}

Variable columns(Tape& tape, const Variable& x, std::int64_t first, std::int64_t count) {
  const std::int64_t width = x.value.shape.last();
  return tape.record(
      {.label = "columns",
       .inputs = {x},
       .outputs = {columns(tape.ops(), x.value, first, count)},
       .backward_input = [first, width](const BackwardCall& call) -> std::vector<Tensor> {
         return {columns_padded(call.ops, call.output_gradients[0], first, width)};
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
