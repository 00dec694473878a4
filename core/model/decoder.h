// The decoder: embedding, layers of attention and MLP on a residual stream, final norm,
// vocabulary-parallel head and loss.
//
// Activations are [T, H] with T = S * micro_batch tokens, S of them a rank's part of the sequence,
// sequence-major: token s of sample b is row s * micro_batch + b. Under sequence parallelism a rank
// holds T / tp of these rows outside the regions that tensor-parallel linear maps enclose.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/mlp.h"
#include "core/model/self_attention.h"
#include "core/parallel/vocabulary.h"

namespace lockstep {

// One micro-batch as a rank sees it.
struct MicroBatch {
  Tensor ids_T;
  Tensor labels_T;
  Tensor weights_T;  // 1 where the label counts, else 0; of the accumulation type
  std::int64_t targets = 0;
  SequenceTables sequence;
};

// What the decoder is made of.
struct DecoderSpec {
  const Case& c;
  NamedParameters parameters;
  // All outlive the decoder.
  const AttentionPlans& attention;
  const CrossEntropyPlan& cross_entropy;
};

struct DecoderLayer {
  std::optional<SelfAttention> attention;
  ResidualDropout attention_dropout;
  MlpLayer mlp;
  ResidualDropout mlp_dropout;
};

class Decoder {
 public:
  Decoder(const RankContext& context, const DecoderSpec& spec);

  // [1]: the sum of the losses of the tokens that count. Traced activations are appended to
  // `trace`, those of describe_activations in its order. The batch outlives the tape.
  Variable loss_sum(const RankContext& context,
                    Tape& tape,
                    const MicroBatch& batch,
                    std::vector<Tensor>& trace) const;

 private:
  VocabParallelEmbedding embedding_;
  ResidualDropout embedding_dropout_;
  std::vector<DecoderLayer> layers_;
  NormLayer final_norm_;
  ColumnParallelLinear output_layer_;
  std::optional<MappingSite> gather_output_;
  VocabParallelCrossEntropy cross_entropy_;
};

}  // namespace lockstep
