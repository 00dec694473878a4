// Vocabulary-parallel embedding and cross entropy (semantics, sections 2.7, 2.8 and 13).
#pragma once

#include <string>

#include "core/autograd/functions.h"
#include "core/parallel/mappings.h"

namespace lockstep {

// Each rank looks up its own rows; the sum over tp that leaves the region puts them together.
class VocabParallelEmbedding {
 public:
  VocabParallelEmbedding(const RankContext& context,
                         const std::string& name,
                         Parameter weight,
                         VocabularyShard shard);
  // ids [T] to [T, H], under sequence parallelism to this rank's rows of it
  Variable forward(const RankContext& context, Tape& tape, const Tensor& ids) const;

 private:
  MappingSite leave_;
  Parameter weight_;
  VocabularyShard shard_;
};

// Which logits a rank is given: its shard's, or all of them gathered.
enum class LogitsCut { kOverTp, kWhole };

// Loss of each token from logits [T, V_local] or [T, V_padded]. Padded columns are as -inf.
class VocabParallelCrossEntropy {
 public:
  VocabParallelCrossEntropy(const std::string& name,
                            LogitsCut cut,
                            VocabularyShard shard,
                            LabelSmoothing smoothing);
  // [T], of the accumulation type
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& logits,
                   const Tensor& labels) const;

 private:
  std::string max_label_;
  std::string sum_label_;
  LogitsCut cut_;
  VocabularyShard shard_;
  LabelSmoothing smoothing_;
};

}  // namespace lockstep
