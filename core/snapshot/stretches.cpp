// From cuts of dims to flat stretches of memory: dim by dim, the outermost first.
#include "core/snapshot/stretches.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/errors.h"

namespace lockstep {
namespace {

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(
      sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
}

bool within(std::int64_t first, std::int64_t count, std::int64_t size) {
  return first >= 0 && count >= 1 && first <= size - count;
}

// Whether two of the ranges [first, first + count) share an index.
bool any_overlap(std::vector<std::pair<std::int64_t, std::int64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].first + ranges[i - 1].second) return true;
  }
  return false;
}

std::string runs_problem(const Shard& shard, const ShardSlice& slice) {
  const auto dim = static_cast<std::size_t>(slice.dim);
  std::vector<std::pair<std::int64_t, std::int64_t>> locals;
  std::vector<std::pair<std::int64_t, std::int64_t>> globals;
  for (const ShardRun& run : slice.runs) {
    if (!within(run.local, run.count, shard.local_shape[dim])) {
      return "a run leaves the local shape";
    }
    if (!within(run.global, run.count, shard.full_shape[dim])) {
      return "a run leaves the full shape";
    }
    locals.emplace_back(run.local, run.count);
    globals.emplace_back(run.global, run.count);
  }
  if (any_overlap(std::move(locals))) return "two runs share a local index";
  if (any_overlap(std::move(globals))) return "two runs share a global index";
  return "";
}

// Null where the dim is not cut.
const ShardSlice* slice_along(const Shard& shard, std::size_t dim) {
  for (const ShardSlice& slice : shard.slices) {
    if (slice.dim == static_cast<int>(dim)) return &slice;
  }
  return nullptr;
}

std::string slices_problem(const Shard& shard) {
  const auto num_dims = static_cast<int>(shard.full_shape.size());
  for (std::size_t i = 0; i < shard.slices.size(); ++i) {
    const int dim = shard.slices[i].dim;
    if (dim < 0 || dim >= num_dims) return "the cut dim does not exist";
    if (i > 0 && dim <= shard.slices[i - 1].dim) return "the cut dims do not ascend";
  }
  return "";
}

// Puts a stretch behind the others, into the last one where it follows it in the shard and in the
// full tensor alike.
void append(const Stretch& next, std::vector<Stretch>& stretches) {
  if (!stretches.empty() && stretches.back().local + stretches.back().count == next.local &&
      stretches.back().full + stretches.back().count == next.full) {
    stretches.back().count += next.count;
  } else {
    stretches.push_back(next);
  }
}

struct CutDim {
  std::vector<ShardRun> runs;  // ascending in the full tensor
  std::int64_t local_size = 0;
  std::int64_t full_size = 0;
};

// Stretches over the dims before a cut one become stretches over those and itself.
std::vector<Stretch> cut_along(const CutDim& dim, const std::vector<Stretch>& outer) {
  std::vector<Stretch> stretches;
  for (const Stretch& stretch : outer) {
    for (std::int64_t i = 0; i < stretch.count; ++i) {
      for (const ShardRun& run : dim.runs) {
        append({.local = (stretch.local + i) * dim.local_size + run.local,
                .full = (stretch.full + i) * dim.full_size + run.global,
                .count = run.count},
               stretches);
      }
    }
  }
  return stretches;
}

// Neighbours in the full tensor become one, wherever they lie locally.
std::vector<Stretch> merged_by_full(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> merged;
  for (const Stretch& stretch : stretches) {
    if (!merged.empty() && merged.back().full + merged.back().count == stretch.full) {
      merged.back().count += stretch.count;
    } else {
      merged.push_back(stretch);
    }
  }
  return merged;
}

}  // namespace

std::string shard_problem(const Shard& shard) {
  const std::size_t num_dims = shard.full_shape.size();
  if (num_dims == 0 || shard.local_shape.size() != num_dims) {
    return "the local shape has another number of dims than the full shape";
  }
  if (const std::string problem = slices_problem(shard); !problem.empty()) return problem;
  for (std::size_t i = 0; i < num_dims; ++i) {
    if (slice_along(shard, i) == nullptr && shard.local_shape[i] != shard.full_shape[i]) {
      return "a dim that is not cut differs from the full shape";
    }
  }
  if (product(shard.local_shape) != static_cast<std::int64_t>(shard.values.size())) {
    return "the number of values is not that of the local shape";
  }
  for (const ShardSlice& slice : shard.slices) {
    if (const std::string problem = runs_problem(shard, slice); !problem.empty()) return problem;
  }
  return "";
}

std::vector<Stretch> stretches_of(const Shard& shard) {
  std::vector<Stretch> stretches = {{.local = 0, .full = 0, .count = 1}};
  for (std::size_t i = 0; i < shard.full_shape.size(); ++i) {
    const std::int64_t full_size = shard.full_shape[i];
    const ShardSlice* const slice = slice_along(shard, i);
    if (slice == nullptr) {
      for (Stretch& stretch : stretches) {
        stretch = {.local = stretch.local * full_size,
                   .full = stretch.full * full_size,
                   .count = stretch.count * full_size};
      }
      continue;
    }
    CutDim dim{.runs = slice->runs, .local_size = shard.local_shape[i], .full_size = full_size};
    std::sort(dim.runs.begin(), dim.runs.end(), [](const ShardRun& a, const ShardRun& b) {
      return a.global < b.global;
    });
    stretches = cut_along(dim, stretches);
  }
  return stretches;
}

void fill_shard(Shard& shard, const FillStretch& fill) {
  shard.values.assign(static_cast<std::size_t>(product(shard.local_shape)), 0.0);
  const std::string problem = shard_problem(shard);
  LOCKSTEP_CHECK(problem.empty(), shard.name + " cannot be filled: " + problem);
  for (const Stretch& stretch : stretches_of(shard)) {
    fill(stretch.full,
         std::span(shard.values)
             .subspan(static_cast<std::size_t>(stretch.local),
                      static_cast<std::size_t>(stretch.count)));
  }
}

std::int64_t num_full_elements(const Shard& shard) { return product(shard.full_shape); }

bool holds_same_elements(const Shard& a, const Shard& b) {
  if (a.full_shape != b.full_shape) return false;
  if (a.local_shape == b.local_shape && a.slices == b.slices) return true;
  const std::vector<Stretch> held_a = merged_by_full(stretches_of(a));
  const std::vector<Stretch> held_b = merged_by_full(stretches_of(b));
  return std::equal(
      held_a.begin(),
      held_a.end(),
      held_b.begin(),
      held_b.end(),
      [](const Stretch& x, const Stretch& y) { return x.full == y.full && x.count == y.count; });
}

}  // namespace lockstep
