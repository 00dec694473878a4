// Vocabulary-parallel embedding and cross entropy (semantics, sections 2.7, 2.8 and 13).
#pragma once

#include <string>

#include "core/autograd/functions.h"
#include "core/parallel/mappings.h"

namespace lockstep {

// Each rank looks up its own rows; a sum over tp puts the activations together.
class VocabParallelEmbedding {
 public:
  VocabParallelEmbedding(const std::string& name, Parameter weight, VocabularyShard shard);
  // ids [T] to [T, H]
  Variable forward(const RankContext& context, Tape& tape, const Tensor& ids) const;

 private:
  MappingSite reduce_;
  Parameter weight_;
  VocabularyShard shard_;
};

// Loss of each token from logits [T, V_local] that no rank holds whole. Padded columns are as -inf.
class VocabParallelCrossEntropy {
 public:
  explicit VocabParallelCrossEntropy(const std::string& name, VocabularyShard shard);
  // [T]
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& logits,
                   const Tensor& labels) const;

 private:
  std::string max_label_;
  std::string sum_label_;
  VocabularyShard shard_;
};

}  // namespace lockstep
