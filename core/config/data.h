// The data of a case: weights, tokens, masks and documents, each a pure function of seed and global
// position.
//
// Core and reference share this file, with the hash of core/base/random.h, and nothing else;
// literal values pin it in a test.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/config/case.h"

namespace lockstep {

// How a parameter starts: weights around 0 with an exact power-of-two factor near sqrt(3 / fan_in),
// norm weights around 1, biases around 0; norm weights and biases never start at exactly 1 or 0.
enum class InitKind { kWeight, kNormWeight, kBias };

// The elements of one full tensor, by index (row-major over the full shape).
class InitialValues {
 public:
  InitialValues(std::int64_t seed, std::string_view name, InitKind kind, std::int64_t fan_in);
  double operator[](std::int64_t index) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  InitKind kind_;
  double weight_factor_;
};

// Token of `position` in [0, seq] of sample `sample` in [0, global_batch) at `step` from 0; the
// label of position p is the token of p + 1.
std::int64_t token(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position);

// Whether the label of `position` in [0, seq) counts in the loss (architecture, section 5: mask).
bool is_target(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position);

// Where the documents of a sample begin, ascending from 0: with packing of 3 to about 3/8 of seq
// tokens each, the last cut off at seq; without it one of all tokens. Tokens, labels and targets
// are the sample's own: the label of a document's last token is the first token of the next.
std::vector<std::int64_t> document_starts(const Case& c, std::int64_t step, std::int64_t sample);

// Position 0 of a sample among the tokens of all steps, which follow one another.
std::int64_t first_token_of(const Case& c, std::int64_t step, std::int64_t sample);

// Dropout keeps element `index` of a site where random_unit(seed, stream_of("dropout." + site),
// index) >= probability, and multiplies it by 1 / (1 - probability). Of activations [token, width]
// the index is token * width + column, of attention (query token * heads + head) * seq + position
// of the key in its sample; tokens are those of all steps.
std::uint64_t dropout_stream(std::string_view site);

}  // namespace lockstep
