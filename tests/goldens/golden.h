// A golden file in Lockstep's words: a case, a batch, parameters, and what they must give.
#pragma once

#include <string>
#include <vector>

#include "core/config/case.h"
#include "matrix/reference/batch.h"
#include "matrix/reference/parameters.h"

namespace lockstep::test {

// What a run of Hugging Face's model computed, or one of ours.
struct Outcome {
  double loss = 0.0;            // mean over the labels that count
  sim::OracleTensor logits_TV;  // row s * micro_batch + b is token s of sample b
  matrix::Tensors gradients;    // in the order of the reference's parameters
};

struct Golden {
  Case c;  // one micro-batch on one rank
  matrix::Batch batch;
  matrix::Tensors parameters;
  Outcome f64;  // Hugging Face's modules with their f32 parts replaced
  Outcome f32;  // as they are
};

// `name`: qwen3 or llama.
Golden read_golden(const std::string& name);

// Rows of linear_qkv as three blocks [q; k; v] instead of groups: what a wrong import looks like.
enum class QkvOrder { kGroups, kBlocks };
matrix::Tensors read_parameters(const std::string& name, QkvOrder order);

// The names of the file's weights that no parameter is made from.
std::vector<std::string> unread_weights(const std::string& name);

}  // namespace lockstep::test
