// Vocabulary-parallel embedding and cross entropy (semantics, sections 2.7, 2.8 and 13).
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Rows of the statistics [3, T]: the label's logit, the sum of exponentials, and this one.
inline constexpr int kSumOfLogitsRow = 2;

// Rows [first, first + count) of the statistics.
struct LogitSum {
  std::string label;  // forward.sum.cross_entropy
  GroupKind group = GroupKind::kTp;
  int first = 0;
  int count = 3;
};

// How the loss of a token goes over the vocabulary (semantics, sections 2.8 and 13): a rank is
// given `width` logits, those of the ids from its coordinate on tp times `stride` on.
struct CrossEntropyPlan {
  std::int64_t width = 0;
  std::int64_t stride = 0;                  // 0: all ranks are given the same
  std::int64_t num_real = 0;                // ids from here on are padding, as -inf
  std::optional<GroupKind> max_group = {};  // none: a rank's own maximum will do
  std::vector<LogitSum> sums = {};          // of what ranks have of the statistics
  LabelSmoothing smoothing = {};
};

std::string to_text(const CrossEntropyPlan& plan);

// Loss of each token from logits [T, width].
class VocabParallelCrossEntropy {
 public:
  // The plan outlives the layer.
  VocabParallelCrossEntropy(const RankContext& context, const CrossEntropyPlan& plan);
  // [T], of the accumulation type
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& logits,
                   const Tensor& labels) const;

 private:
  const CrossEntropyPlan& plan_;
  VocabularyShard shard_;
};

}  // namespace lockstep
