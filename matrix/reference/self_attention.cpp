// Attention block forward and backward.
#include "matrix/reference/self_attention.h"

namespace lockstep::matrix {
namespace {

CoreAttentionSetting core_setting(const AttentionWeights& weights, const Pass& pass) {
  return {.sizes = pass.setting.sizes,
          .sliding_window = pass.setting.sliding_window,
          .sink_Q = weights.sink_Q,
          .places_T = pass.places_T,
          .first_token = pass.first_token,
          .dropout = {pass.setting.dropout, weights.prefix + "core_attention"}};
}

}  // namespace

AttentionSaved self_attention(Matrix& x_TH, const AttentionWeights& weights, Pass& pass) {
  const LayerSetting& setting = pass.setting;
  AttentionSaved saved;
  saved.norm = norm(x_TH, weights.norm);
  const Matrix qkv = linear(saved.norm.y_TH, weights.qkv);
  pass.trace.record(weights.prefix + "linear_qkv", qkv);
  saved.heads = split_heads(qkv, setting.sizes);
  if (setting.qk_norm) {
    saved.q_norm = norm(saved.heads.q, weights.q_norm);
    saved.k_norm = norm(saved.heads.k, weights.k_norm);
    saved.heads.q = saved.q_norm.y_TH;
    saved.heads.k = saved.k_norm.y_TH;
  }
  setting.rotary.turn(saved.heads.q, pass.places_T);
  setting.rotary.turn(saved.heads.k, pass.places_T);
  saved.core = core_attention(saved.heads, core_setting(weights, pass));
  pass.trace.record(weights.prefix + "core_attention", saved.core.out);
  Matrix out_TH = linear(saved.core.out, weights.proj);
  pass.trace.record(weights.prefix + "linear_proj", out_TH);
  pass.drop(weights.prefix + "linear_proj", out_TH);
  add(x_TH, out_TH);
  return saved;
}

void self_attention_backward(Matrix& dx_TH,
                             const AttentionSaved& saved,
                             const AttentionWeights& weights,
                             const Pass& pass,
                             const AttentionGradients& gradients) {
  const LayerSetting& setting = pass.setting;
  Matrix dout_TH = dx_TH;
  pass.drop(weights.prefix + "linear_proj", dout_TH);
  const Matrix dcore = linear_backward(dout_TH, saved.core.out, weights.proj, gradients.proj);
  Heads dheads = core_attention_backward(
      dcore, saved.core, saved.heads, core_setting(weights, pass), gradients.sink_Q);
  setting.rotary.turn_back(dheads.q, pass.places_T);
  setting.rotary.turn_back(dheads.k, pass.places_T);
  if (setting.qk_norm) {
    dheads.q = norm_backward(dheads.q, saved.q_norm, weights.q_norm, gradients.q_norm);
    dheads.k = norm_backward(dheads.k, saved.k_norm, weights.k_norm, gradients.k_norm);
  }
  const Matrix dqkv = merge_heads(dheads, setting.sizes);
  const Matrix dy_TH = linear_backward(dqkv, saved.norm.y_TH, weights.qkv, gradients.qkv);
  // The residual branch keeps dx as it is.
  add(dx_TH, norm_backward(dy_TH, saved.norm, weights.norm, gradients.norm));
}

}  // namespace lockstep::matrix
