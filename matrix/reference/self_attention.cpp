// Attention block forward and backward.
#include "matrix/reference/self_attention.h"

namespace lockstep::matrix {

AttentionSaved self_attention(Matrix& x_TH,
                              const AttentionSetting& setting,
                              const AttentionWeights& weights,
                              const std::string& prefix,
                              Trace& trace) {
  AttentionSaved saved;
  saved.norm = norm(x_TH, weights.norm);
  const Matrix qkv = linear(saved.norm.y_TH, weights.qkv);
  trace.record(prefix + "linear_qkv", qkv);
  saved.heads = split_heads(qkv, setting.sizes);
  if (setting.qk_norm) {
    saved.q_norm = norm(saved.heads.q, weights.q_norm);
    saved.k_norm = norm(saved.heads.k, weights.k_norm);
    saved.heads.q = saved.q_norm.y_TH;
    saved.heads.k = saved.k_norm.y_TH;
  }
  setting.rotary.turn(saved.heads.q);
  setting.rotary.turn(saved.heads.k);
  saved.core = core_attention(saved.heads, setting.sizes);
  trace.record(prefix + "core_attention", saved.core.out);
  const Matrix out_TH = linear(saved.core.out, weights.proj);
  trace.record(prefix + "linear_proj", out_TH);
  add(x_TH, out_TH);
  return saved;
}

void self_attention_backward(Matrix& dx_TH,
                             const AttentionSaved& saved,
                             const AttentionSetting& setting,
                             const AttentionWeights& weights,
                             const AttentionGradients& gradients) {
  const Matrix dout = linear_backward(dx_TH, saved.core.out, weights.proj, gradients.proj);
  Heads dheads = core_attention_backward(dout, saved.core, saved.heads, setting.sizes);
  setting.rotary.turn_back(dheads.q);
  setting.rotary.turn_back(dheads.k);
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
