// Tokens and blocks of keys as context parallelism, packing and windows make them, for tests of
// attention over blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ops/attention_block.h"

namespace lockstep::test {

struct Token {
  std::int64_t document = 0;
  std::int64_t place = 0;
  std::int64_t position = 0;  // -1: padding
};
using Tokens = std::vector<Token>;

// Tokens [first, first + count) of a document that begins the sample.
Tokens run_of(std::int64_t first, std::int64_t count);
// Documents of these lengths, each padded to a multiple.
Tokens packed(const std::vector<std::int64_t>& lengths, std::int64_t multiple);
Tokens joined(const std::vector<Tokens>& parts);
// A table of tokens (attention_args.h), row by row.
std::vector<std::int64_t> table_of(const Tokens& tokens);

struct BlockSetting {
  std::string name;
  Tokens queries;
  std::vector<Tokens> blocks;  // of keys
  AttentionBlock block;
  bool has_sink = false;

  std::int64_t rows(const Tokens& tokens) const;
  Shape q_shape() const;
  Shape kv_shape(const Tokens& keys) const;
  Shape state_shape() const;  // of what there is one per query and head
  std::int64_t num_keys() const;

  // By the definition, pair by pair.
  bool sees(const Token& query, const Token& key) const;
  bool sees_any(const Token& query) const;
};

struct BlockSizes {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
};
BlockSetting block_setting(const std::string& name,
                           const Tokens& queries,
                           const std::vector<Tokens>& blocks,
                           const BlockSizes& sizes);

// Tiles of 16 that are full, begun, single and empty; one token; blocks that are other than the
// queries in number; windows, documents, padding, a ring with a sink and dropout; rows and blocks
// that see nothing.
std::vector<BlockSetting> block_settings();
// Of two samples with grouped heads: a document that no query is of, one of two tiles, and one that
// begins in the middle of a tile; a window.
BlockSetting small_setting();

}  // namespace lockstep::test
