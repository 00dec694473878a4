// What works on a vocabulary shard: embedding rows, and the pieces of cross entropy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/errors.h"
#include "core/ops/cpu/bodies.h"

namespace lockstep::cpu {
namespace {

// Row or column of the shard for a global id, -1 where another shard owns it. A negative id is
// memory that nobody wrote.
std::int64_t local_row(std::int64_t id, std::int64_t first_row, std::int64_t rows) {
  LOCKSTEP_CHECK(id >= 0, "token id " + std::to_string(id) + " is negative");
  const std::int64_t row = id - first_row;
  return row >= 0 && row < rows ? row : -1;
}

std::int64_t num_columns(const LogitsArgs& args) {
  return args.labels_T.count == 0 ? 0 : args.logits_TV.count / args.labels_T.count;
}

}  // namespace

void embedding(const LaunchTarget&, const EmbeddingArgs& args) {
  const std::int64_t tokens = args.ids_T.count;
  const std::int64_t width = args.out_TH.count / std::max<std::int64_t>(tokens, 1);
  const std::int64_t rows = args.weight_VH.count / width;
  for (std::int64_t t = 0; t < tokens; ++t) {
    double* const out = elements<double>(args.out_TH) + t * width;
    const std::int64_t row = local_row(elements<std::int64_t>(args.ids_T)[t], args.first_row, rows);
    if (row < 0) {
      std::fill_n(out, width, 0.0);
    } else {
      std::copy_n(elements<double>(args.weight_VH) + row * width, width, out);
    }
  }
}

void embedding_backward(const LaunchTarget&, const EmbeddingBackwardArgs& args) {
  const std::int64_t tokens = args.ids_T.count;
  const std::int64_t width = args.dout_TH.count / std::max<std::int64_t>(tokens, 1);
  const std::int64_t rows = args.dweight_VH.count / width;
  std::fill_n(elements<double>(args.dweight_VH), args.dweight_VH.count, 0.0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t row = local_row(elements<std::int64_t>(args.ids_T)[t], args.first_row, rows);
    if (row < 0) continue;
    const double* const dout = elements<double>(args.dout_TH) + t * width;
    double* const dweight = elements<double>(args.dweight_VH) + row * width;
    for (std::int64_t i = 0; i < width; ++i) dweight[i] += dout[i];
  }
}

void logits_max(const LaunchTarget&, const LogitsMaxArgs& args) {
  const std::int64_t columns = num_columns(args.logits);
  for (std::int64_t t = 0; t < args.max_T.count; ++t) {
    const double* const z = elements<double>(args.logits.logits_TV) + t * columns;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) {
      largest = (z[j] > largest || z[j] != z[j]) ? z[j] : largest;  // NaN stays
    }
    elements<double>(args.max_T)[t] = largest;
  }
}

void logits_stats(const LaunchTarget&, const LogitsStatsArgs& args) {
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  double* const stats = elements<double>(args.stats_2T);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double* const z = elements<double>(args.logits.logits_TV) + t * columns;
    const double largest = elements<double>(args.max_T)[t];
    const std::int64_t label = local_row(elements<std::int64_t>(args.logits.labels_T)[t],
                                         args.logits.first_row,
                                         args.logits.num_real);
    double sum = 0.0;
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) sum += std::exp(z[j] - largest);
    stats[t] = label < 0 ? 0.0 : z[label] - largest;
    stats[tokens + t] = sum;
  }
}

void token_loss(const LaunchTarget&, const TokenLossArgs& args) {
  const std::int64_t tokens = args.loss_T.count;
  const double* const stats = elements<double>(args.stats_2T);
  for (std::int64_t t = 0; t < tokens; ++t) {
    elements<double>(args.loss_T)[t] = std::log(stats[tokens + t]) - stats[t];
  }
}

void logits_backward(const LaunchTarget&, const LogitsBackwardArgs& args) {
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  const double* const stats = elements<double>(args.stats_2T);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double* const z = elements<double>(args.logits.logits_TV) + t * columns;
    double* const dz = elements<double>(args.dlogits_TV) + t * columns;
    const double largest = elements<double>(args.max_T)[t];
    const double dloss = elements<double>(args.dloss_T)[t];
    const std::int64_t label = local_row(elements<std::int64_t>(args.logits.labels_T)[t],
                                         args.logits.first_row,
                                         args.logits.num_real);
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) {
      dz[j] = dloss * (std::exp(z[j] - largest) / stats[tokens + t] - (j == label ? 1.0 : 0.0));
    }
    std::fill(dz + args.logits.num_real, dz + columns, 0.0);
  }
}

}  // namespace lockstep::cpu
