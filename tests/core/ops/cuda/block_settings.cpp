// Layouts of tokens, and the settings that tests of attention over blocks go through.
#include "tests/core/ops/cuda/block_settings.h"

#include <algorithm>
#include <cmath>

namespace lockstep::test {
namespace {

// Chunks r and 2 n - 1 - r of 2 n.
Tokens zigzag(std::int64_t rank, std::int64_t num_ranks, std::int64_t chunk) {
  return joined({run_of(rank * chunk, chunk), run_of((2 * num_ranks - 1 - rank) * chunk, chunk)});
}

BlockSetting with_window(BlockSetting setting, std::int64_t window) {
  setting.block.window = window;
  return setting;
}

// Heads that are some of a model's, samples that are some of a run's.
BlockSetting with_dropout(BlockSetting setting, double probability) {
  setting.block.dropout = {.probability = probability, .seed = 7, .stream = 0x123456789abcdefULL};
  setting.block.first_token = 1000;
  setting.block.seq = 400;
  setting.block.first_head = 3;
  setting.block.all_heads = 3 + setting.block.sizes.num_heads + 2;
  return setting;
}

BlockSetting with_sink(BlockSetting setting) {
  setting.has_sink = true;
  return setting;
}

}  // namespace

Tokens run_of(std::int64_t first, std::int64_t count) {
  Tokens tokens;
  for (std::int64_t i = first; i < first + count; ++i) {
    tokens.push_back({.document = 0, .place = i, .position = i});
  }
  return tokens;
}

Tokens packed(const std::vector<std::int64_t>& lengths, std::int64_t multiple) {
  Tokens tokens;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t padded = (lengths[i] + multiple - 1) / multiple * multiple;
    for (std::int64_t place = 0; place < padded; ++place) {
      tokens.push_back({.document = static_cast<std::int64_t>(i),
                        .place = place,
                        .position = place < lengths[i] ? start + place : -1});
    }
    start += lengths[i];
  }
  return tokens;
}

Tokens joined(const std::vector<Tokens>& parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::int64_t> table_of(const Tokens& tokens) {
  std::vector<std::int64_t> table;
  for (const Token& token : tokens) table.push_back(token.document);
  for (const Token& token : tokens) table.push_back(token.place);
  for (const Token& token : tokens) table.push_back(token.position);
  return table;
}

std::int64_t BlockSetting::rows(const Tokens& tokens) const {
  return static_cast<std::int64_t>(tokens.size()) * block.sizes.batch;
}

Shape BlockSetting::q_shape() const {
  return {rows(queries), block.sizes.num_heads * block.sizes.head_dim};
}

Shape BlockSetting::kv_shape(const Tokens& keys) const {
  return {rows(keys), block.sizes.num_kv_heads * block.sizes.head_dim};
}

Shape BlockSetting::state_shape() const { return {rows(queries), block.sizes.num_heads}; }

std::int64_t BlockSetting::num_keys() const {
  std::size_t num = 0;
  for (const Tokens& keys : blocks) num += keys.size();
  return static_cast<std::int64_t>(num);
}

bool BlockSetting::sees(const Token& query, const Token& key) const {
  if (query.document != key.document || key.place > query.place) return false;
  return block.window == 0 || query.place - key.place < block.window;
}

bool BlockSetting::sees_any(const Token& query) const {
  return std::any_of(blocks.begin(), blocks.end(), [&](const Tokens& keys) {
    return std::any_of(
        keys.begin(), keys.end(), [&](const Token& key) { return sees(query, key); });
  });
}

BlockSetting block_setting(const std::string& name,
                           const Tokens& queries,
                           const std::vector<Tokens>& blocks,
                           const BlockSizes& sizes) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(sizes.head_dim));
  return {.name = name,
          .queries = queries,
          .blocks = blocks,
          .block = {.sizes = {.batch = sizes.batch,
                              .num_heads = sizes.heads,
                              .num_kv_heads = sizes.kv_heads,
                              .head_dim = sizes.head_dim,
                              .scale = scale},
                    .dropout = {}}};
}

std::vector<BlockSetting> block_settings() {
  const Tokens documents = packed({5, 17, 1, 35}, 4);
  const std::vector<Tokens> ring{zigzag(1, 3, 11), zigzag(0, 3, 11), zigzag(2, 3, 11)};
  const Tokens late = run_of(170, 130);
  return {
      block_setting("one token", run_of(0, 1), {run_of(0, 1)}, {}),
      block_setting("one query",
                    run_of(32, 1),
                    {run_of(0, 33)},
                    {.batch = 3, .heads = 8, .kv_heads = 2, .head_dim = 8}),
      block_setting("one key",
                    run_of(0, 33),
                    {run_of(5, 1)},
                    {.batch = 2, .heads = 3, .kv_heads = 3, .head_dim = 15}),
      block_setting("causal",
                    run_of(0, 37),
                    {run_of(0, 37)},
                    {.batch = 2, .heads = 6, .kv_heads = 2, .head_dim = 20}),
      with_dropout(block_setting("whole tiles",
                                 run_of(0, 32),
                                 {run_of(0, 48)},
                                 {.batch = 1, .heads = 2, .kv_heads = 1, .head_dim = 128}),
                   0.5),
      with_window(block_setting("window",
                                run_of(10, 50),
                                {run_of(0, 30), run_of(30, 41)},
                                {.batch = 2, .heads = 4, .kv_heads = 4, .head_dim = 16}),
                  7),
      block_setting("documents",
                    documents,
                    {documents},
                    {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 8}),
      with_dropout(with_window(block_setting("documents, window and dropout",
                                             documents,
                                             {documents, packed({2, 3}, 1)},
                                             {.heads = 4, .kv_heads = 2, .head_dim = 40}),
                               3),
                   0.1),
      with_sink(with_dropout(
          block_setting(
              "ring", ring[0], ring, {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 8}),
          0.25)),
      block_setting("many keys",
                    late,
                    {run_of(0, 300)},
                    {.batch = 1, .heads = 2, .kv_heads = 1, .head_dim = 33}),
      block_setting("nothing seen",
                    run_of(0, 20),
                    {run_of(20, 30)},
                    {.batch = 2, .heads = 2, .kv_heads = 1, .head_dim = 8}),
      with_sink(block_setting("only a sink seen by some",
                              run_of(0, 40),
                              {run_of(18, 3), run_of(39, 9)},
                              {.batch = 1, .heads = 3, .kv_heads = 1, .head_dim = 8})),
  };
}

BlockSetting small_setting() {
  const Tokens other{{.document = 9, .place = 0, .position = 90},
                     {.document = 9, .place = 1, .position = 91}};
  const Tokens own = packed({21, 32}, 1);
  return with_window(block_setting("small",
                                   own,
                                   {joined({other, own})},
                                   {.batch = 2, .heads = 6, .kv_heads = 2, .head_dim = 20}),
                     18);
}

}  // namespace lockstep::test
