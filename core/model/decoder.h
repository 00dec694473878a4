// The decoder: embedding, layers of RMS norm and a parallel MLP on a residual stream, final norm,
// vocabulary-parallel head and loss.
//
// Activations are [T, H] with T = seq * micro_batch tokens, sequence-major: token s of sample b is
// row s * micro_batch + b.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/model/parameters.h"
#include "core/parallel/linear.h"
#include "core/parallel/vocabulary.h"

namespace lockstep {

// One micro-batch as a rank sees it.
struct MicroBatch {
  Tensor ids_T;
  Tensor labels_T;
  Tensor weights_T;  // 1 where the label counts, else 0
  std::int64_t targets = 0;
};

// x + W2 silu(W1 norm(x)), W1 column- and W2 row-parallel.
class MlpLayer {
 public:
  MlpLayer(const Model& model,
           const ParameterTable& table,
           const Parameters& parameters,
           const std::string& name);
  Variable forward(const RankContext& context, Tape& tape, const Variable& x) const;

 private:
  Parameter norm_weight_;
  double norm_eps_;
  ColumnParallelLinear fc1_;
  RowParallelLinear fc2_;
};

class Decoder {
 public:
  Decoder(const RankContext& context,
          const Model& model,
          const ParameterTable& table,
          const Parameters& parameters);

  // [1]: the sum of the losses of the tokens that count.
  Variable loss_sum(const RankContext& context, Tape& tape, const MicroBatch& batch) const;

 private:
  VocabParallelEmbedding embedding_;
  std::vector<MlpLayer> layers_;
  Parameter final_norm_weight_;
  double norm_eps_;
  ColumnParallelLinear output_layer_;
  VocabParallelCrossEntropy cross_entropy_;
};

}  // namespace lockstep
