// Frames are compared before anything is worked out from them.
#include "core/snapshot/dealing.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

bool has_frame(const Shard& shard, const Dealing::Part& part) {
  return shard.values.size() == part.num_values && shard.full_shape == part.frame.full_shape &&
         shard.local_shape == part.frame.local_shape && shard.slices == part.frame.slices;
}

Dealing::Part part_of(const RankShard& held) {
  const Shard& shard = *held.shard;
  return {.rank = held.rank,
          .frame = {.name = shard.name,
                    .full_shape = shard.full_shape,
                    .local_shape = shard.local_shape,
                    .slices = shard.slices},
          .num_values = shard.values.size(),
          .stretches = stretches_of(shard)};
}

std::string rank_text(Rank rank) { return "rank " + std::to_string(rank.value); }

// Puts the part's elements that nobody supplies yet into the cover.
void supply(std::size_t index, Dealing& dealing, std::vector<char>& is_supplied) {
  Dealing::Part& part = dealing.parts[index];
  part.supplies_all = true;
  for (const Stretch& stretch : part.stretches) {
    std::int64_t i = 0;
    while (i < stretch.count) {
      const std::int64_t first = i;
      const char supplied = is_supplied[static_cast<std::size_t>(stretch.full + first)];
      while (i < stretch.count &&
             is_supplied[static_cast<std::size_t>(stretch.full + i)] == supplied) {
        ++i;
      }
      if (supplied != 0) {
        part.supplies_all = false;
        continue;
      }
      dealing.cover.push_back(
          {.part = index,
           .stretch = {
               .local = stretch.local + first, .full = stretch.full + first, .count = i - first}});
    }
    const auto begin = is_supplied.begin() + static_cast<std::ptrdiff_t>(stretch.full);
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(stretch.count), char{1});
  }
}

std::string holes_problem(const std::vector<char>& is_supplied) {
  const auto hole = std::find(is_supplied.begin(), is_supplied.end(), char{0});
  if (hole == is_supplied.end()) return "";
  return "no rank holds " + std::to_string(std::count(hole, is_supplied.end(), char{0})) +
         " of its elements, the first is " + std::to_string(hole - is_supplied.begin());
}

// Adds the part of one shard; gives what is wrong with its shapes.
std::string add_part(const RankShard& held, Dealing& dealing) {
  const std::size_t index = dealing.parts.size();
  for (std::size_t i = 0; i < index; ++i) {
    if (dealing.parts[i].first_alike != i || !has_frame(*held.shard, dealing.parts[i])) continue;
    Dealing::Part part = dealing.parts[i];
    part.rank = held.rank;
    part.supplies_all = false;
    dealing.parts.push_back(std::move(part));
    return "";
  }
  const std::string problem = shard_problem(*held.shard);
  if (!problem.empty()) return rank_text(held.rank) + ": " + problem;
  if (index > 0 && held.shard->full_shape != dealing.parts.front().frame.full_shape) {
    return rank_text(held.rank) + " has another full shape than " +
           rank_text(dealing.parts.front().rank);
  }
  dealing.parts.push_back(part_of(held));
  dealing.parts.back().first_alike = index;
  return "";
}

}  // namespace

Dealing deal(std::span<const RankShard> shards) {
  Dealing dealing;
  if (shards.empty()) dealing.problem = "no rank holds it";
  for (const RankShard& held : shards) {
    dealing.problem = add_part(held, dealing);
    if (!dealing.problem.empty()) break;
  }
  if (!dealing.problem.empty()) {
    dealing.parts.clear();
    return dealing;
  }
  dealing.num_elements = static_cast<std::size_t>(num_full_elements(*shards.front().shard));
  std::vector<char> is_supplied(dealing.num_elements, char{0});
  for (std::size_t i = 0; i < dealing.parts.size(); ++i) {
    if (dealing.parts[i].first_alike == i) supply(i, dealing, is_supplied);
  }
  dealing.problem = holes_problem(is_supplied);
  return dealing;
}

bool fits(const Dealing& dealing, std::span<const RankShard> shards) {
  if (dealing.parts.empty() || dealing.parts.size() != shards.size()) return false;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Dealing::Part& part = dealing.parts[i];
    if (shards[i].rank != part.rank || !has_frame(*shards[i].shard, part)) return false;
  }
  return true;
}

void gather(const Dealing& dealing,
            std::span<const RankShard> shards,
            std::vector<double>& values) {
  values.resize(dealing.num_elements);
  for (const Dealing::Piece& piece : dealing.cover) {
    const double* const source = shards[piece.part].shard->values.data() + piece.stretch.local;
    std::copy_n(source, piece.stretch.count, values.begin() + piece.stretch.full);
  }
}

bool are_same_bits(const Dealing::Part& part, const Shard& a, const Shard& b) {
  const auto same = [&](std::int64_t first, std::size_t count) {
    return count == 0 ||
           std::memcmp(a.values.data() + first, b.values.data() + first, count * sizeof(double)) ==
               0;
  };
  // Mostly the padding is the same too.
  return same(0, part.num_values) ||
         std::all_of(part.stretches.begin(), part.stretches.end(), [&](const Stretch& stretch) {
           return same(stretch.local, static_cast<std::size_t>(stretch.count));
         });
}

}  // namespace lockstep
