// Recording ops of attention: the fused projection taken apart, rotation, and attention itself.
#include "core/autograd/functions.h"
#include "core/ops/elementwise.h"

namespace lockstep {
namespace {

struct TypedShape {
  DType dtype;
  Shape shape;
};

TypedShape typed_shape(const Tensor& tensor) {
  return {.dtype = tensor.dtype, .shape = tensor.shape};
}

// An output that nothing used has no gradient; its share of the joined one is zero.
Tensor gradient_or_zeros(const BackwardCall& call, std::size_t output, const TypedShape& like) {
  if (call.output_gradients[output]) return call.output_gradients[output];
  const Tensor zeros = new_tensor(call.ops, like.dtype, like.shape, "qkv.unused");
  fill(call.ops, zeros, 0.0, "op.split_qkv_unused");
  return zeros;
}

AttentionSaved attention_saved(std::span<const Tensor> saved) {
  return {.inputs = {.q = saved[0], .k = saved[1], .v = saved[2]}, .probabilities = saved[3]};
}

}  // namespace

QkvVariables split_qkv(Tape& tape, const Variable& qkv, const QkvGroups& groups) {
  const Qkv parts = split_qkv(tape.ops(), qkv.value, groups);
  const TypedShape q = typed_shape(parts.q);
  const TypedShape kv = typed_shape(parts.k);
  const std::vector<Variable> outputs = tape.record(
      {.label = "split_qkv",
       .inputs = {qkv},
       .outputs = {parts.q, parts.k, parts.v},
       .backward_input = [groups, q, kv](const BackwardCall& call) -> std::vector<Tensor> {
         return {join_qkv(call.ops,
                          {.q = gradient_or_zeros(call, 0, q),
                           .k = gradient_or_zeros(call, 1, kv),
                           .v = gradient_or_zeros(call, 2, kv)},
                          groups)};
       }});
  return {.q = outputs[0], .k = outputs[1], .v = outputs[2]};
}

Variable rope(Tape& tape, const Variable& x, const RopeTables& tables, std::int64_t batch) {
  return tape.record(
      {.label = "rope",
       .inputs = {x},
       .outputs = {rope(tape.ops(), x.value, tables, batch, RopeDirection::kForward)},
       .saved = {tables.cos, tables.sin},
       .backward_input = [batch](const BackwardCall& call) -> std::vector<Tensor> {
         return {rope(call.ops,
                      call.output_gradients[0],
                      {.cos = call.saved[0], .sin = call.saved[1]},
                      batch,
                      RopeDirection::kBack)};
       }})[0];
}

Variable attention(Tape& tape, const QkvVariables& inputs, const AttentionSizes& sizes) {
  const Qkv values{.q = inputs.q.value, .k = inputs.k.value, .v = inputs.v.value};
  const AttentionResult result = attention(tape.ops(), values, sizes);
  return tape.record({.label = "attention",
                      .inputs = {inputs.q, inputs.k, inputs.v},
                      .outputs = {result.out},
                      .saved = {values.q, values.k, values.v, result.probabilities},
                      .backward_input = [sizes](const BackwardCall& call) -> std::vector<Tensor> {
                        const Qkv gradients = attention_backward(
                            call.ops, attention_saved(call.saved), sizes, call.output_gradients[0]);
                        return {gradients.q, gradients.k, gradients.v};
                      }})[0];
}

}  // namespace lockstep
