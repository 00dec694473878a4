// Local indices by their full ones, and everything else from those.
#include "tests/simulator/checks/fake_cuts.h"

#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::OracleTensor;

// The full index of each local one, -1 for padding.
using Indices = std::vector<std::int64_t>;

std::vector<ShardRun> runs_of(const Indices& indices) {
  std::vector<ShardRun> runs;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto local = static_cast<std::int64_t>(i);
    if (indices[i] < 0) continue;
    const bool goes_on = !runs.empty() && runs.back().local + runs.back().count == local &&
                         runs.back().global + runs.back().count == indices[i];
    if (goes_on) {
      ++runs.back().count;
    } else {
      runs.push_back({.local = local, .global = indices[i], .count = 1});
    }
  }
  return runs;
}

Indices all_of(std::int64_t size) {
  Indices indices(static_cast<std::size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// Of a dim dealt to tp in equal parts, padded to a multiple of 8 tp where it is the vocabulary.
Indices over_tp(std::int64_t size, bool is_padded, const Layout& layout, const FakePlace& place) {
  const std::int64_t multiple = is_padded ? 8 * layout.tp : layout.tp;
  const std::int64_t local = (size + multiple - 1) / multiple * multiple / layout.tp;
  Indices indices;
  for (std::int64_t i = place.tp * local; i < (place.tp + 1) * local; ++i) {
    indices.push_back(i < size ? i : -1);
  }
  return indices;
}

// Without indices a dim is not cut.
struct FakeCuts {
  std::optional<Indices> rows = {};
  std::optional<Indices> columns = {};
};

Shard shard_of(const OracleTensor& tensor, const FakeCuts& cuts) {
  Shard shard{.name = tensor.name,
              .full_shape = tensor.shape,
              .local_shape = tensor.shape,
              .values = tensor.values};
  if (!cuts.rows.has_value() && !cuts.columns.has_value()) return shard;
  const Indices rows = cuts.rows.value_or(all_of(tensor.shape[0]));
  const Indices columns = cuts.columns.value_or(all_of(tensor.shape[1]));
  shard.local_shape = {static_cast<std::int64_t>(rows.size()),
                       static_cast<std::int64_t>(columns.size())};
  if (cuts.rows.has_value()) shard.slices.push_back({.dim = 0, .runs = runs_of(rows)});
  if (cuts.columns.has_value()) shard.slices.push_back({.dim = 1, .runs = runs_of(columns)});
  shard.values.clear();
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) {
      const std::int64_t full = row * tensor.shape[1] + column;
      const bool is_real = row >= 0 && column >= 0;
      shard.values.push_back(is_real ? tensor.values[static_cast<std::size_t>(full)]
                                     : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return shard;
}

// A document's tokens [begin, end), padded and dealt to cp zigzag.
void add_document(std::int64_t begin,
                  std::int64_t end,
                  const Layout& layout,
                  const FakePlace& place,
                  Indices& rows) {
  const std::int64_t num_chunks = 2 * layout.cp;
  const std::int64_t multiple = num_chunks * (layout.sp && layout.cp > 1 ? layout.tp : 1);
  const std::int64_t chunk = (end - begin + multiple - 1) / multiple * multiple / num_chunks;
  for (const std::int64_t own : {place.cp, num_chunks - 1 - place.cp}) {
    for (std::int64_t i = begin + own * chunk; i < begin + (own + 1) * chunk; ++i) {
      rows.push_back(i < end ? i : -1);
    }
  }
}

struct FakeRows {
  Indices all;
  Indices own;  // under sequence parallelism the tp part
};

FakeRows rows_of(std::int64_t num_tokens,
                 const Layout& layout,
                 const FakePlace& place,
                 std::int64_t g) {
  FakeRows rows;
  const std::int64_t first_length = layout.cp > 1 && g % 2 == 1 ? 3 : num_tokens;
  add_document(0, first_length, layout, place, rows.all);
  if (first_length < num_tokens) {
    add_document(first_length, num_tokens, layout, place, rows.all);
  }
  rows.own = rows.all;
  if (!layout.sp) return rows;
  const auto count = static_cast<std::ptrdiff_t>(rows.all.size()) / layout.tp;
  const auto first = rows.all.begin() + place.tp * count;
  rows.own = {first, first + count};
  return rows;
}

}  // namespace

FakePlace place_of(std::int64_t rank, const Layout& layout) {
  return {.tp = rank % layout.tp,
          .cp = rank / layout.tp % layout.cp,
          .dp = rank / (layout.tp * layout.cp)};
}

std::vector<Shard> parameter_shards(const std::vector<OracleTensor>& tensors,
                                    const Layout& layout,
                                    const FakePlace& place) {
  std::vector<Shard> shards;
  for (const OracleTensor& tensor : tensors) {
    FakeCuts cuts;
    const bool is_padded = tensor.name == kEmbedding;
    if (is_padded || tensor.name == kFc1) {
      cuts.rows = over_tp(tensor.shape[0], is_padded, layout, place);
    } else if (tensor.name == kFc2) {
      cuts.columns = over_tp(tensor.shape[1], false, layout, place);
    }
    shards.push_back(shard_of(tensor, cuts));
  }
  return shards;
}

std::vector<Shard> activation_shards(const std::vector<OracleTensor>& tensors,
                                     const Layout& layout,
                                     const FakePlace& place,
                                     std::int64_t g) {
  std::vector<Shard> shards;
  for (const OracleTensor& tensor : tensors) {
    const FakeRows rows = rows_of(tensor.shape[0], layout, place, g);
    FakeCuts cuts{.rows = rows.own};
    if (tensor.name == kActivated || tensor.name == kLogits) {
      cuts.rows = rows.all;
      cuts.columns = over_tp(tensor.shape[1], tensor.name == kLogits, layout, place);
    }
    shards.push_back(shard_of(tensor, cuts));
  }
  return shards;
}

}  // namespace lockstep::test
